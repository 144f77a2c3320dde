// Package kube asks the API server of a kubeconfig's context what kopshook exec needs for Runtime Extensions: a key of a
// Secret, and a way to a Service from outside of its cluster.
package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kopshook.dev/kopshook/internal/report"
)

// askTimeout bounds a question to the API server, with what a kubeconfig runs to sign in.
const askTimeout = 30 * time.Second

// maxAnswer bounds what is read of an answer.
const maxAnswer = 16 << 20

// API is an API server.
type API struct {
	config *rest.Config
	client *http.Client
	base   *url.URL
	name   string // of the context, for messages
}

// Connect reads KUBECONFIG or ~/.kube/config, as kubectl does, and returns the API server of a context; "" is the current
// one. Nothing is asked of it yet.
func Connect(contextName string) (*API, error) {
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(),
		&clientcmd.ConfigOverrides{CurrentContext: contextName})
	const remedy = "set KUBECONFIG, and name the context with --context where it is not the current one"
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, report.Hint(remedy, "cannot read the kubeconfig: %w", err)
	}
	name := contextName
	if name == "" {
		name = raw.CurrentContext
	}
	if raw.Contexts[name] == nil {
		if name == "" {
			return nil, report.Hint(remedy, "the kubeconfig has no current context")
		}
		return nil, report.Hint(remedy, "the kubeconfig has no context %q", name)
	}
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, report.Hint(remedy, "cannot use context %q of the kubeconfig: %w", name, err)
	}
	a, err := New(config, name)
	if err != nil {
		return nil, report.Hint(remedy, "cannot use context %q of the kubeconfig: %w", name, err)
	}
	return a, nil
}

// New returns the API server of a configuration. Messages call it the context name.
func New(config *rest.Config, name string) (a *API, err error) {
	a = &API{config: config, name: name}
	if a.client, err = rest.HTTPClientFor(config); err != nil {
		return nil, err
	}
	a.base, _, err = rest.DefaultServerUrlFor(config)
	return a, err
}

// SecretKey returns what a Secret holds under a key.
func (a *API) SecretKey(ctx context.Context, namespace, name, key string) ([]byte, error) {
	var secret struct {
		Data map[string][]byte `json:"data"`
	}
	if err := a.get(ctx, fmt.Sprintf("Secret %s/%s", namespace, name), []string{"api", "v1", "namespaces", namespace, "secrets", name}, nil, &secret); err != nil {
		return nil, err
	}
	value, ok := secret.Data[key]
	if !ok {
		return nil, fmt.Errorf("the Secret %s/%s has no %s", namespace, name, key)
	}
	return value, nil
}

// get reads an object, or a list. what names it in messages.
func (a *API) get(ctx context.Context, what string, path []string, query url.Values, into any) error {
	ctx, stop := context.WithTimeout(ctx, askTimeout)
	defer stop()
	u := a.base.JoinPath(path...)
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := a.client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %s", askTimeout)
		}
		return report.Hint("make `kubectl --context "+a.name+" version` work, or name another context with --context",
			"cannot ask the API server of context %q about %s: %w", a.name, what, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("cannot read what the API server says of %s: %w", what, err)
	}
	if resp.StatusCode != http.StatusOK {
		var status struct {
			Message string `json:"message"`
		}
		json.Unmarshal(data, &status)
		said := strings.TrimSpace(resp.Status + " " + status.Message)
		remedy := ""
		switch resp.StatusCode {
		case http.StatusNotFound:
			remedy = "is context " + a.name + " the cluster that it is in? Name another with --context"
		case http.StatusForbidden, http.StatusUnauthorized:
			remedy = "let the user of context " + a.name + " get it"
		}
		return report.Hint(remedy, "cannot get %s from context %q: %s", what, a.name, said)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("cannot read what the API server says of %s: %w", what, err)
	}
	return nil
}
