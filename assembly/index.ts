// SPDX-License-Identifier: Apache-2.0
// The proxy-wasm exports (ABI 0.2.1): each callback finds its object by context id and hands over.
import "./host/abort";
import { FilterRoot } from "./filter/filter-root";
import { FilterStream } from "./filter/filter-stream";
import { collectGarbage } from "./host/garbage";
import { allocateForHost } from "./host/spill";
import { Action } from "./host/status";

// One VM may serve several plugin configurations: each has a root context of its own.
const roots = new Map<u32, FilterRoot>();

/** The root that serves a stream, remembered when the host creates the context. */
let current: FilterRoot | null = null;

function rootOf(contextId: u32): FilterRoot | null {
  const root = current;
  if (root !== null && root.contextId == contextId) return root;
  if (!roots.has(contextId)) return null;
  current = roots.get(contextId);
  return current;
}

/** Stream contexts of all roots live in one table, so that no callback needs to know its root. */
function streamOf(contextId: u32): FilterStream | null {
  return FilterRoot.streams.find(contextId);
}

export function proxy_abi_version_0_2_1(): void {}

export function malloc(size: usize): usize {
  return allocateForHost(<u32>size);
}

export function proxy_on_vm_start(_rootId: u32, _configurationSize: u32): u32 {
  return 1;
}

export function proxy_on_context_create(contextId: u32, parentId: u32): void {
  if (parentId == 0) {
    roots.set(contextId, new FilterRoot(contextId));
    return;
  }
  const root = rootOf(parentId);
  if (root !== null) root.openStream(contextId);
}

export function proxy_on_configure(rootId: u32, size: u32): u32 {
  const root = rootOf(rootId);
  return root !== null && root.configure(size) ? 1 : 0;
}

export function proxy_on_tick(rootId: u32): void {
  collectGarbage();
  const root = rootOf(rootId);
  if (root !== null) root.tick();
}

export function proxy_on_request_headers(contextId: u32, _count: u32, ended: u32): Action {
  const stream = streamOf(contextId);
  return stream !== null ? stream.onRequestHeaders(ended != 0) : Action.Continue;
}

export function proxy_on_request_body(contextId: u32, size: u32, ended: u32): Action {
  const stream = streamOf(contextId);
  return stream !== null ? stream.onRequestBody(size, ended != 0) : Action.Continue;
}

export function proxy_on_request_trailers(contextId: u32, _count: u32): Action {
  const stream = streamOf(contextId);
  return stream !== null ? stream.onRequestTrailers() : Action.Continue;
}

export function proxy_on_response_headers(contextId: u32, _count: u32, ended: u32): Action {
  const stream = streamOf(contextId);
  if (stream !== null) stream.onResponseHeaders(ended != 0);
  return Action.Continue;
}

export function proxy_on_response_body(contextId: u32, size: u32, ended: u32): Action {
  const stream = streamOf(contextId);
  if (stream !== null) stream.onResponseBody(size, ended != 0);
  return Action.Continue;
}

export function proxy_on_response_trailers(contextId: u32, _count: u32): Action {
  const stream = streamOf(contextId);
  if (stream !== null) stream.onResponseTrailers();
  return Action.Continue;
}

export function proxy_on_log(contextId: u32): void {
  const stream = streamOf(contextId);
  if (stream !== null) stream.onLog();
}

/**
 * The end of a stream, or of a configuration. There is no `proxy_on_done`: the host would call it for each stream as
 * well (half a microsecond), and for a configuration it comes right before this.
 */
export function proxy_on_delete(contextId: u32): void {
  const stream = streamOf(contextId);
  if (stream !== null) stream.root.closeStream(stream);
  else if (roots.has(contextId)) deleteRoot(contextId);
}

function deleteRoot(contextId: u32): void {
  roots.get(contextId).drain();
  roots.delete(contextId);
  current = null;
}
