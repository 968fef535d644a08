// SPDX-License-Identifier: Apache-2.0

// Package command is the command line that the renderers have in common.
package command

import (
	"flag"
	"fmt"
	"os"
)

// Order is what a renderer is asked for.
type Order struct {
	// Kubernetes objects around the manifests.
	ClusterFile string
	// OCI image layout of the module, and its name in the manifests.
	ImageFolder  string
	ShippedImage string
	// Manifests, in the order in which they are applied.
	Files   []string
	OutFile string
}

// Main reads the flags, those that the caller has defined among them, and renders; a fault ends the program.
func Main(render func(Order) error) {
	var order Order
	flag.StringVar(&order.ClusterFile, "cluster", "", "Kubernetes objects around the manifests")
	flag.StringVar(&order.ImageFolder, "image", "", "OCI image layout of the module")
	flag.StringVar(&order.ShippedImage, "image-name", "", "the module's image as the manifests name it")
	flag.StringVar(&order.OutFile, "out", "", "file to write")
	flag.Parse()
	order.Files = flag.Args()
	if err := render(order); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
