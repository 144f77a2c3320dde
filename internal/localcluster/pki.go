package localcluster

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"

	"sigs.k8s.io/yaml"
)

// keyPair is a certificate and its key.
type keyPair struct {
	id              string // kops' own, of a key pair in the state store
	certPEM, keyPEM []byte
	cert            *x509.Certificate
	key             crypto.Signer
}

// keyset reads a key pair as kops writes it to the state store: upup/pkg/fi/vfs_keystore.go of kops.
func keyset(data []byte) (*keyPair, error) {
	var set struct {
		Spec struct {
			Keys []struct {
				ID                              string
				PublicMaterial, PrivateMaterial string
			}
		}
	}
	if err := yaml.Unmarshal(data, &set); err != nil {
		return nil, err
	}
	if len(set.Spec.Keys) == 0 {
		return nil, fmt.Errorf("the key set is empty")
	}
	k := set.Spec.Keys[0]
	pair := &keyPair{id: k.ID}
	var err error
	if pair.certPEM, err = base64.StdEncoding.DecodeString(k.PublicMaterial); err != nil {
		return nil, err
	}
	if pair.keyPEM, err = base64.StdEncoding.DecodeString(k.PrivateMaterial); err != nil {
		return nil, err
	}
	return pair, pair.parse()
}

func (p *keyPair) parse() error {
	cert, _ := pem.Decode(p.certPEM)
	key, _ := pem.Decode(p.keyPEM)
	if cert == nil || key == nil {
		return fmt.Errorf("not PEM")
	}
	var err error
	if p.cert, err = x509.ParseCertificate(cert.Bytes); err != nil {
		return err
	}
	p.key, err = x509.ParsePKCS1PrivateKey(key.Bytes)
	return err
}

// request is what a certificate is to say.
type request struct {
	name   string
	groups []string
	hosts  []string // names and addresses
	usage  x509.ExtKeyUsage
}

// newCA makes an authority that signs itself.
func newCA(name string) (*keyPair, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	c := certificate(request{name: name})
	c.IsCA, c.BasicConstraintsValid, c.KeyUsage, c.ExtKeyUsage = true, true, x509.KeyUsageCertSign, nil
	return sign(c, c, key, key)
}

// issue makes a certificate that p signs.
func (p *keyPair) issue(r request) (*keyPair, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	return sign(certificate(r), p.cert, key, p.key)
}

func certificate(r request) *x509.Certificate {
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: r.name, Organization: r.groups},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(0, 0, 30),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{r.usage},
	}
	for _, h := range r.hosts {
		if ip := net.ParseIP(h); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, h)
		}
	}
	return c
}

func sign(c, parent *x509.Certificate, key *rsa.PrivateKey, by crypto.Signer) (*keyPair, error) {
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), by)
	if err != nil {
		return nil, err
	}
	p := &keyPair{
		certPEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		keyPEM:  pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
	}
	return p, p.parse()
}

// trusts is for clients of a server of the cluster's that is called name.
func (c *Cluster) trusts(name string) *tls.Config {
	roots := x509.NewCertPool()
	roots.AddCert(c.ca.cert)
	return &tls.Config{RootCAs: roots, ServerName: name}
}
