// SPDX-License-Identifier: Apache-2.0

// Renders Istio manifests with istiod's own code, running in this process, and with the agent's code that fetches the
// module: writes what the Envoy of a gateway or a sidecar would get, as JSON.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listener "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcm "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/envoyproxy/gateway/smetric/command"
	"github.com/envoyproxy/gateway/smetric/manifests"
	"github.com/envoyproxy/gateway/smetric/output"
	"github.com/envoyproxy/gateway/smetric/registry"
	"istio.io/istio/pilot/pkg/features"
	"istio.io/istio/pilot/pkg/model"
	"istio.io/istio/pilot/test/xds"
	"istio.io/istio/pkg/config/mesh"
	_ "istio.io/istio/pkg/config/xds"
	"istio.io/istio/pkg/test"
	"istio.io/istio/pkg/wasm"
)

const namespace = "istio-system"

// What only Istio has beside the common flags.
type options struct {
	meshFile     string
	proxy        string
	sessionLabel bool
}

func main() {
	var o options
	flag.StringVar(&o.meshFile, "mesh", "", "mesh configuration")
	flag.StringVar(&o.proxy, "proxy", "gateway", "gateway or sidecar")
	flag.BoolVar(&o.sessionLabel, "session-label", false, "switch istiod's persistent session filter on")
	command.Main(func(order command.Order) error { return run(o, order) })
}

func run(o options, order command.Order) error {
	modules, err := registry.Serve(order.ImageFolder, order.ShippedImage)
	if err != nil {
		return err
	}
	defer modules.Stop()
	config, err := manifests.Read(order.Files...)
	if err != nil {
		return err
	}
	objects, err := os.ReadFile(order.ClusterFile)
	if err != nil {
		return err
	}
	meshText, err := os.ReadFile(o.meshFile)
	if err != nil {
		return err
	}
	meshConfig, err := mesh.ApplyMeshConfigDefaults(string(meshText))
	if err != nil {
		return err
	}
	features.EnablePersistentSessionFilter.Store(o.sessionLabel)
	var rendered output.Rendered
	var fault error
	err = test.Wrap(func(t test.Failer) {
		istiod := xds.NewFakeDiscoveryServer(t, xds.FakeOptions{
			ConfigString:           strings.ReplaceAll(config, order.ShippedImage, modules.Image),
			KubernetesObjectString: string(objects),
			MeshConfig:             meshConfig,
		})
		rendered, fault = render(istiod, istiod.SetupProxy(proxyOf(o.proxy)))
	})
	if err == nil {
		err = fault
	}
	if err != nil {
		return err
	}
	return rendered.Write(order.OutFile)
}

// The ingress gateway, or the sidecar of a client in the namespace of the engines.
func proxyOf(kind string) *model.Proxy {
	labels := map[string]string{"istio": "ingressgateway"}
	proxy := &model.Proxy{Type: model.Router, ConfigNamespace: namespace}
	if kind == "sidecar" {
		labels = map[string]string{"app": "agents"}
		proxy = &model.Proxy{Type: model.SidecarProxy, ConfigNamespace: "default"}
	}
	proxy.Labels = labels
	proxy.Metadata = &model.NodeMetadata{
		Labels:       labels,
		Namespace:    proxy.ConfigNamespace,
		IstioVersion: "1.31.0",
	}
	return proxy
}

func render(istiod *xds.FakeDiscoveryServer, proxy *model.Proxy) (output.Rendered, error) {
	var rendered output.Rendered
	listeners := istiod.Listeners(proxy)
	extensions, err := fetchModules(istiod.ConfigGen.BuildExtensionConfiguration(
		proxy, istiod.PushContext(), extensionNames(listeners), nil))
	if err != nil {
		return rendered, err
	}
	if rendered.Listeners, err = output.Messages(listeners); err != nil {
		return rendered, err
	}
	if rendered.Routes, err = output.Messages(istiod.Routes(proxy)); err != nil {
		return rendered, err
	}
	if rendered.Clusters, err = output.Messages(istiod.Clusters(proxy)); err != nil {
		return rendered, err
	}
	if rendered.Endpoints, err = output.Messages(istiod.Endpoints(proxy)); err != nil {
		return rendered, err
	}
	rendered.Extensions, err = output.Messages(extensions)
	return rendered, err
}

// Filters that a listener leaves to extension discovery.
func extensionNames(listeners []*listener.Listener) []string {
	var names []string
	for _, l := range listeners {
		for _, chain := range append(l.GetFilterChains(), l.GetDefaultFilterChain()) {
			for _, filter := range chain.GetFilters() {
				manager := &hcm.HttpConnectionManager{}
				if filter.GetTypedConfig().UnmarshalTo(manager) != nil {
					continue
				}
				for _, f := range manager.GetHttpFilters() {
					if f.GetConfigDiscovery() != nil {
						names = append(names, f.GetName())
					}
				}
			}
		}
	}
	return names
}

// What the agent beside Envoy does: it downloads the image and puts a local file in its place.
func fetchModules(extensions []*core.TypedExtensionConfig) ([]*core.TypedExtensionConfig, error) {
	folder, err := os.MkdirTemp("", "modules")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	cache := wasm.NewLocalFileCache(folder, wasm.Options{})
	defer cache.Cleanup()
	resources := make([]*anypb.Any, 0, len(extensions))
	for _, extension := range extensions {
		resource, err := anypb.New(extension)
		if err != nil {
			return nil, err
		}
		resources = append(resources, resource)
	}
	if err := wasm.MaybeConvertWasmExtensionConfig(resources, cache); err != nil {
		return nil, err
	}
	fetched := make([]*core.TypedExtensionConfig, 0, len(resources))
	for _, resource := range resources {
		extension := &core.TypedExtensionConfig{}
		if err := resource.UnmarshalTo(extension); err != nil {
			return nil, err
		}
		if extension.GetTypedConfig().GetTypeUrl() != extensions[len(fetched)].GetTypedConfig().GetTypeUrl() {
			return nil, fmt.Errorf("the agent cannot fetch the module of %s, and refuses all requests", extension.GetName())
		}
		fetched = append(fetched, extension)
	}
	return fetched, nil
}
