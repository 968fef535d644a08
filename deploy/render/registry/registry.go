// SPDX-License-Identifier: Apache-2.0

// Package registry serves the module's image to the code of a control plane that fetches it.
package registry

import (
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Registry holds one image.
type Registry struct {
	// Image is the shipped name with the address of this registry.
	Image string
	Stop  func()
}

// Serve pushes the only image of an OCI layout under its shipped name, as `crane push` does.
func Serve(folder string, shipped string) (Registry, error) {
	image, err := onlyImage(folder)
	if err != nil {
		return Registry{}, err
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	_, path, _ := strings.Cut(shipped, "/")
	target := strings.TrimPrefix(server.URL, "http://") + "/" + path
	reference, err := name.ParseReference(target)
	if err != nil {
		return Registry{}, err
	}
	return Registry{Image: target, Stop: server.Close}, remote.Write(reference, image)
}

func onlyImage(folder string) (v1.Image, error) {
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("%s holds %d images", folder, len(manifest.Manifests))
	}
	return index.Image(manifest.Manifests[0].Digest)
}
