// SPDX-License-Identifier: Apache-2.0

// Renders Envoy Gateway manifests with the translator and the module cache of the real controller, running in this
// process: writes what the gateway's Envoy would get, as JSON. `egctl x translate` does the same without the module
// cache, and so refuses Wasm policies; the controller's standalone mode has it, but knows no services.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwapiv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	egv1a1 "github.com/envoyproxy/gateway/api/v1alpha1"
	"github.com/envoyproxy/gateway/internal/gatewayapi"
	"github.com/envoyproxy/gateway/internal/gatewayapi/resource"
	"github.com/envoyproxy/gateway/internal/logging"
	"github.com/envoyproxy/gateway/internal/wasm"
	"github.com/envoyproxy/gateway/internal/xds/bootstrap"
	"github.com/envoyproxy/gateway/internal/xds/translator"
	xdstypes "github.com/envoyproxy/gateway/internal/xds/types"
	"github.com/envoyproxy/gateway/smetric/command"
	"github.com/envoyproxy/gateway/smetric/manifests"
	"github.com/envoyproxy/gateway/smetric/output"
	"github.com/envoyproxy/gateway/smetric/registry"
)

// Where the controller of a standard installation runs.
const controllerNamespace = "envoy-gateway-system"

func main() {
	command.Main(run)
}

func run(order command.Order) error {
	modules, err := registry.Serve(order.ImageFolder, order.ShippedImage)
	if err != nil {
		return err
	}
	defer modules.Stop()
	text, err := manifests.Read(append([]string{order.ClusterFile}, order.Files...)...)
	if err != nil {
		return err
	}
	text = strings.ReplaceAll(text, order.ShippedImage, modules.Image)
	resources, err := resource.LoadResourcesFromYAMLBytes([]byte(text), false, nil)
	if err != nil {
		return err
	}
	if resources.EndpointSlices, err = endpointSlices(text); err != nil {
		return err
	}
	// The loader takes every EnvoyProxy for the gateway class's; the manifests attach theirs to the gateway.
	if proxy := resources.EnvoyProxyForGatewayClass; proxy != nil {
		resources.EnvoyProxyForGatewayClass = nil
		resources.EnvoyProxiesForGateways = []*egv1a1.EnvoyProxy{proxy}
	}
	table, err := translate(resources)
	if err != nil {
		return err
	}
	started, err := bootstrapOf(resources)
	if err != nil {
		return err
	}
	return write(table, started, order.OutFile)
}

// The loader knows every kind but this one.
func endpointSlices(text string) ([]*discoveryv1.EndpointSlice, error) {
	var slices []*discoveryv1.EndpointSlice
	for _, document := range strings.Split(text, "\n---\n") {
		if !strings.Contains(document, "kind: EndpointSlice") {
			continue
		}
		slice := &discoveryv1.EndpointSlice{}
		if err := yaml.Unmarshal([]byte(document), slice); err != nil {
			return nil, err
		}
		slices = append(slices, slice)
	}
	return slices, nil
}

func translate(resources *resource.Resources) (*xdstypes.ResourceVersionTable, error) {
	folder, err := os.MkdirTemp("", "modules")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	logger := logging.DefaultLogger(io.Discard, egv1a1.LogLevelError)
	gateway := &gatewayapi.Translator{
		GatewayControllerName:   string(resources.GatewayClass.Spec.ControllerName),
		GatewayClassName:        gwapiv1.ObjectName(resources.GatewayClass.Name),
		EnvoyPatchPolicyEnabled: true,
		ControllerNamespace:     controllerNamespace,
		WasmCache: wasm.NewHTTPServerWithFileCache(
			wasm.ServerOptions{}, wasm.CacheOptions{CacheDir: folder}, controllerNamespace, logger),
		Logger: logger,
	}
	ctx := context.Background()
	translated, err := gateway.Translate(ctx, resources)
	if err != nil {
		return nil, err
	}
	if err := refusals(translated); err != nil {
		return nil, err
	}
	if len(translated.XdsIR) != 1 {
		return nil, fmt.Errorf("the manifests make %d gateways", len(translated.XdsIR))
	}
	for _, ir := range translated.XdsIR {
		xds := &translator.Translator{ControllerNamespace: controllerNamespace, Logger: logger}
		for _, proxy := range resources.EnvoyProxiesForGateways {
			xds.FilterOrder = proxy.Spec.FilterOrder
		}
		table, err := xds.Translate(ctx, ir)
		if err != nil {
			return nil, err
		}
		for _, patches := range table.EnvoyPatchPolicyStatuses {
			if err := refused(patches.Name, patches.Status); err != nil {
				return nil, err
			}
		}
		return table, nil
	}
	return nil, nil
}

// A policy that the controller does not accept is ignored by it: a rendering without it would prove nothing.
func refusals(translated *gatewayapi.TranslateResult) error {
	for _, policy := range translated.ClientTrafficPolicies {
		if err := refused(policy.Name, &policy.Status); err != nil {
			return err
		}
	}
	for _, policy := range translated.BackendTrafficPolicies {
		if err := refused(policy.Name, &policy.Status); err != nil {
			return err
		}
	}
	for _, policy := range translated.EnvoyExtensionPolicies {
		if err := refused(policy.Name, &policy.Status); err != nil {
			return err
		}
	}
	for _, route := range translated.HTTPRoutes {
		for _, parent := range route.Status.Parents {
			if err := untrue(route.Name, parent.Conditions); err != nil {
				return err
			}
		}
	}
	return nil
}

func refused(name string, status *gwapiv1.PolicyStatus) error {
	if len(status.Ancestors) == 0 {
		return fmt.Errorf("%s applies to nothing", name)
	}
	for _, ancestor := range status.Ancestors {
		if err := untrue(name, ancestor.Conditions); err != nil {
			return err
		}
	}
	return nil
}

func untrue(name string, conditions []metav1.Condition) error {
	for _, condition := range conditions {
		if condition.Status == metav1.ConditionFalse {
			return fmt.Errorf("%s: %s is false: %s", name, condition.Type, condition.Message)
		}
	}
	return nil
}

// The bootstrap with what the EnvoyProxy of the gateway changes in it.
func bootstrapOf(resources *resource.Resources) ([]byte, error) {
	text, err := bootstrap.GetRenderedBootstrapConfig(nil)
	if err != nil {
		return nil, err
	}
	for _, proxy := range resources.EnvoyProxiesForGateways {
		changes := proxy.Spec.Bootstrap
		if changes == nil {
			continue
		}
		if err := bootstrap.Validate(changes); err != nil {
			return nil, err
		}
		if text, err = bootstrap.ApplyBootstrapConfig(changes, text); err != nil {
			return nil, err
		}
	}
	return yaml.YAMLToJSON([]byte(text))
}

func write(table *xdstypes.ResourceVersionTable, started []byte, file string) error {
	rendered := output.Rendered{Bootstrap: started}
	var err error
	if rendered.Listeners, err = output.Messages(table.XdsResources[resourcev3.ListenerType]); err != nil {
		return err
	}
	if rendered.Routes, err = output.Messages(table.XdsResources[resourcev3.RouteType]); err != nil {
		return err
	}
	if rendered.Clusters, err = output.Messages(table.XdsResources[resourcev3.ClusterType]); err != nil {
		return err
	}
	if rendered.Endpoints, err = output.Messages(table.XdsResources[resourcev3.EndpointType]); err != nil {
		return err
	}
	return rendered.Write(file)
}
