package kube

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kopshook.dev/kopshook/internal/report"
)

// endpoint is a port of a pod behind a Service.
type endpoint struct {
	namespace, pod string
	port           int
}

// endpoint finds a ready pod behind a port of a Service, as kubectl port-forward does, which takes a pod that runs.
func (a *API) endpoint(ctx context.Context, namespace, name string, port int) (endpoint, error) {
	what := fmt.Sprintf("Service %s/%s", namespace, name)
	var service corev1.Service
	if err := a.get(ctx, what, []string{"api", "v1", "namespaces", namespace, "services", name}, nil, &service); err != nil {
		return endpoint{}, err
	}
	at := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool {
		return int(p.Port) == port && (p.Protocol == "" || p.Protocol == corev1.ProtocolTCP)
	})
	if at < 0 {
		var has []string
		for _, p := range service.Spec.Ports {
			has = append(has, fmt.Sprint(p.Port))
		}
		return endpoint{}, report.Hint("say the port of the service: "+strings.Join(has, ", "), "%s has no port %d", what, port)
	}
	if len(service.Spec.Selector) == 0 {
		return endpoint{}, report.Hint("make the server reachable and give its `url:`", "%s selects no pods: there is none to reach it by", what)
	}
	var pods corev1.PodList
	query := url.Values{"labelSelector": {labels.SelectorFromSet(service.Spec.Selector).String()}}
	if err := a.get(ctx, "the pods of "+what, []string{"api", "v1", "namespaces", namespace, "pods"}, query, &pods); err != nil {
		return endpoint{}, err
	}
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !ready(pod) {
			continue
		}
		target, err := targetPort(service.Spec.Ports[at], pod)
		if err != nil {
			return endpoint{}, fmt.Errorf("%s: %w", what, err)
		}
		return endpoint{namespace, pod.Name, target}, nil
	}
	return endpoint{}, report.Hint("look at `kubectl --context "+a.name+" --namespace "+namespace+" get pods`",
		"%s has no ready pod (%d are there)", what, len(pods.Items))
}

func ready(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// targetPort is the port of the pod that a port of its Service leads to.
func targetPort(p corev1.ServicePort, pod *corev1.Pod) (int, error) {
	switch {
	case p.TargetPort.Type == intstr.String:
		for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
			for _, port := range c.Ports {
				if port.Name == p.TargetPort.StrVal && (port.Protocol == "" || port.Protocol == corev1.ProtocolTCP) {
					return int(port.ContainerPort), nil
				}
			}
		}
		return 0, fmt.Errorf("pod %s has no port called %q", pod.Name, p.TargetPort.StrVal)
	case p.TargetPort.IntVal == 0:
		return int(p.Port), nil
	}
	return p.TargetPort.IntValue(), nil
}
