// SPDX-License-Identifier: Apache-2.0

// Package output writes what an Envoy would get from a control plane.
package output

import (
	"encoding/json"
	"os"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Rendered is all that an Envoy asks for, each message as JSON with the names of the protocol.
type Rendered struct {
	// What the Envoy is started with, where manifests can change it.
	Bootstrap  json.RawMessage   `json:"bootstrap,omitempty"`
	Listeners  []json.RawMessage `json:"listeners"`
	Routes     []json.RawMessage `json:"routes"`
	Clusters   []json.RawMessage `json:"clusters"`
	Endpoints  []json.RawMessage `json:"endpoints"`
	Extensions []json.RawMessage `json:"extensions"`
}

// Write puts all of it into one file.
func (r Rendered) Write(file string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// Messages turns protocol messages into JSON.
func Messages[T proto.Message](messages []T) ([]json.RawMessage, error) {
	texts := []json.RawMessage{}
	for _, message := range messages {
		text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(message)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}
