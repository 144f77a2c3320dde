package fakecloud

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

func (c *Cloud) isSecretStore(host string) bool {
	return strings.HasPrefix(host, "ssm.") || strings.HasPrefix(host, "secretsmanager.") || host == "secretmanager.googleapis.com" || strings.HasSuffix(host, ".vault.azure.net")
}

// secrets plays the clouds' stores of secrets, with their errors.
func (c *Cloud) secrets(w http.ResponseWriter, r *http.Request, now time.Time) {
	body, _ := io.ReadAll(r.Body)
	var asked map[string]any
	_ = json.Unmarshal(body, &asked)
	name, problem, form, status := "", "", `{"__type":"com.amazon.coral#%s","Message":"no"}`, http.StatusBadRequest
	var answer func(value string) any
	switch service, rest, _ := strings.Cut(r.Host, "."); {
	case strings.HasSuffix(r.Host, ".vault.azure.net"):
		name, form, status = "azure-keyvault:"+service+strings.TrimPrefix(r.URL.Path, "/secrets"), `{"error":{"code":"%s","message":"no"}}`, http.StatusForbidden
		if r.Header.Get("Authorization") != "Bearer azure:https://vault.azure.net" || r.URL.Query().Get("api-version") == "" {
			problem = "Unauthorized"
		}
		answer = func(value string) any {
			return map[string]string{"value": value, "id": "https://" + r.Host + r.URL.Path}
		}
	case service == "secretmanager":
		name, form, status = "gcp-secretmanager:"+strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/v1/"), ":access"), `{"error": {"code": 403, "message": "no", "status": "%s"}}`, http.StatusForbidden
		if r.Header.Get("Authorization") != "Bearer ya29.google" || !strings.HasSuffix(r.URL.Path, ":access") {
			problem = "UNAUTHENTICATED"
		}
		answer = func(value string) any {
			return map[string]any{"payload": map[string]string{"data": base64.StdEncoding.EncodeToString([]byte(value))}}
		}
	default:
		region, _, _ := strings.Cut(rest, ".")
		sum := sha256.Sum256(body)
		target := r.Header.Get("X-Amz-Target")
		if problem = signedFor(r, service, region, now); r.Method != http.MethodPost || r.Header.Get("X-Amz-Content-Sha256") != hex.EncodeToString(sum[:]) || r.Header.Get("Content-Type") != "application/x-amz-json-1.1" {
			problem = "InvalidSignatureException"
		}
		switch {
		case service == "ssm" && target == "AmazonSSM.GetParameter" && asked["WithDecryption"] == true:
			name = "aws-ssm:" + fmt.Sprint(asked["Name"])
			answer = func(value string) any {
				return map[string]any{"Parameter": map[string]string{"Value": value, "Type": "SecureString"}}
			}
		case service == "secretsmanager" && target == "secretsmanager.GetSecretValue":
			name = "aws-secretsmanager:" + fmt.Sprint(asked["SecretId"])
			answer = func(value string) any {
				if binary, ok := strings.CutPrefix(value, "binary "); ok {
					return map[string]string{"SecretBinary": base64.StdEncoding.EncodeToString([]byte(binary))}
				}
				return map[string]string{"SecretString": value}
			}
		default:
			problem = "UnknownOperationException"
		}
	}
	switch value, ok := c.Secrets[name]; {
	case problem == "" && (c.Fault == "denied" || c.Fault == "late rights" && count("secrets") < 3):
		problem = "AccessDenied"
	case problem == "" && !ok:
		problem = "NotFound"
	case problem == "":
		_ = json.NewEncoder(w).Encode(answer(value))
		return
	}
	w.WriteHeader(status)
	fmt.Fprintf(w, form, problem)
}
