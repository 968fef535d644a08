// SPDX-License-Identifier: Apache-2.0

// Package manifests reads what a user applies.
package manifests

import (
	"os"
	"strings"
)

// Read joins the objects of several files in one text.
func Read(files ...string) (string, error) {
	var texts []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		texts = append(texts, string(text))
	}
	return strings.Join(texts, "\n---\n"), nil
}
