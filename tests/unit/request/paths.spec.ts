// SPDX-License-Identifier: Apache-2.0
// Which paths are scanned, and which are left alone although their bodies look like conversations.
import { isScanned, PathKind } from "../../../assembly/request/paths";
import { pathKind } from "./reading";

function expectKind(paths: string[], kind: PathKind): void {
  for (let i = 0; i < paths.length; i++) expect(pathKind(paths[i])).toBe(kind, paths[i]);
}

describe("a path", () => {
  it("is known by its longest suffix, without query and trailing slash", () => {
    expectKind(
      [
        "/v1/chat/completions",
        "/chat/completions/",
        "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21",
        "/proxy/v1/chat/completions?a=/v1/embeddings",
      ],
      PathKind.Chat,
    );
    expectKind(["/v1/messages?beta=true", "/anthropic/v1/messages"], PathKind.Messages);
    expectKind(["/v1/responses", "/v1/responses/"], PathKind.Responses);
    expectKind(["/v1/responses/compact"], PathKind.Compact);
    expectKind(["/v1/completions"], PathKind.Completions);
  });

  it("is left alone where no model runs", () => {
    expectKind(
      [
        "/v1/chat/completions/render",
        "/v1/completions/render",
        "/v1/messages/count_tokens",
        "/v1/responses/input_tokens",
        "/tokenize",
        "/detokenize",
        "/v1/embeddings",
        "/v1/rerank",
        "/score",
        "/classify",
        "/pooling",
        "/v1/moderations",
        "/v1/conversations",
      ],
      PathKind.Leave,
    );
  });

  it("is unknown otherwise, and not scanned unless the operator says so", () => {
    expectKind(["/", "", "?", "/health", "/v1/models", "/v1/responses/resp_1"], PathKind.Unknown);
    expect(isScanned(PathKind.Unknown)).toBe(false);
    expect(isScanned(PathKind.Leave)).toBe(false);
    expect(isScanned(PathKind.Compact)).toBe(true);
  });
});
