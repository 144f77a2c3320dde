//go:build e2e

package kops

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"kopshook.dev/kopshook/internal/kube"
	"kopshook.dev/kopshook/internal/localcluster"
)

// kubeletHealth is where the kubelet says that it is well, to its own machine only.
const kubeletHealth = 10248

// forwards reaches a port of the node's loopback device through a pod in the node's network: by a Service, a real API server, the real
// kubelet and containerd.
func forwards(ctx context.Context, node string) error {
	core := api.CoreV1()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "forwarded", Labels: map[string]string{"app": "forwarded"}}, Spec: corev1.PodSpec{NodeName: node, HostNetwork: true,
		Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		Containers:  []corev1.Container{{Name: "waits", Image: toolsImage, ImagePullPolicy: corev1.PullNever}}}}
	if _, err := core.Pods("kube-system").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return err
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "forwarded"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "forwarded"},
		Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(kubeletHealth)}}}}
	if _, err := core.Services("kube-system").Create(ctx, service, metav1.CreateOptions{}); err != nil {
		return err
	}
	u, err := url.Parse(localcluster.URL)
	if err != nil {
		return err
	}
	// the API server is in the cluster's network; this is its door
	proxy := httputil.NewSingleHostReverseProxy(u)
	proxy.Transport = theCluster.Client().Transport
	door := httptest.NewTLSServer(proxy)
	defer door.Close()
	server, err := kube.New(&rest.Config{Host: door.URL, TLSClientConfig: rest.TLSClientConfig{
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: door.Certificate().Raw})}}, "door")
	if err != nil {
		return err
	}
	tunnel := server.Tunnel("kube-system", "forwarded", 80)
	defer tunnel.Close()
	for ; ; time.Sleep(time.Second) { // until the pod is ready
		if err = tunnel.Open(ctx); err == nil {
			break
		}
		if ctx.Err() != nil {
			return fmt.Errorf("port-forward: %w", err)
		}
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return tunnel.Dial() }}}
	defer client.CloseIdleConnections()
	resp, err := client.Get("http://forwarded.kube-system.svc/healthz")
	if err != nil {
		return fmt.Errorf("port-forward: %w", err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || string(text) != "ok" {
		return fmt.Errorf("the kubelet says %q through the port-forward, %v", text, err)
	}
	return nil
}
