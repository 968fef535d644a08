// SPDX-License-Identifier: Apache-2.0
// The host's side of one guest context: what host calls made in its name can reach.
import type { ByteBuffer } from "../http/byte-buffer.ts";
import type { HeaderMap, HeaderPair } from "../http/header-map.ts";
import { BufferType, MapType, Status } from "./abi.ts";
import type { WasmVm } from "./wasm-vm.ts";

export interface LocalReply {
  status: number;
  details: string;
  body: Uint8Array;
  headers: HeaderPair[];
}

/** What imports reach through the context in whose name the guest acts. */
export abstract class GuestContext {
  readonly id: number;
  /** The guest has seen proxy_on_context_create for it. */
  created = false;

  constructor(readonly vm: WasmVm) {
    this.id = vm.adopt(this);
  }

  abstract get rootId(): number;

  /** Map that the guest may read now. */
  abstract readableMap(type: number): HeaderMap | undefined;

  /** Map that the guest may change now. */
  abstract writableMap(type: number): HeaderMap | undefined;

  /** The guest has changed a map of this type. */
  abstract headersChanged(type: number): void;

  abstract buffer(type: number): ByteBuffer | Uint8Array | undefined;

  /** Bytes of the property, or undefined when absent; a Status for other refusals. */
  abstract property(path: string): Uint8Array | Status | undefined;

  abstract setProperty(path: string, value: Uint8Array): Status;

  abstract continueStream(type: number): Status;

  abstract closeStream(type: number): Status;

  abstract sendLocalReply(reply: LocalReply): void;

  abstract clearRouteCache(): void;
}

/** A side call's answer while the guest handles it. */
export interface CallResponse {
  headers: HeaderMap;
  body: Uint8Array;
  trailers: HeaderMap | undefined;
}

/** Context 1 of each VM: configuration, ticks and side calls happen in its name. */
export class RootContext extends GuestContext {
  pluginConfiguration: Uint8Array | undefined;
  callResponse: CallResponse | undefined;

  override get rootId(): number {
    return this.id;
  }

  override writableMap(): undefined {
    return undefined;
  }

  override headersChanged(): void {}

  override setProperty(): Status {
    return Status.NotFound;
  }

  override continueStream(): Status {
    return Status.Ok;
  }

  override closeStream(): Status {
    return Status.Ok;
  }

  override sendLocalReply(): void {}

  override clearRouteCache(): void {}

  override buffer(type: number): Uint8Array | undefined {
    if (type === BufferType.VmConfiguration) return new Uint8Array(0);
    if (type === BufferType.PluginConfiguration) return this.pluginConfiguration;
    if (type === BufferType.HttpCallResponseBody) return this.callResponse?.body;
    return undefined;
  }

  override readableMap(type: number): HeaderMap | undefined {
    if (type === MapType.HttpCallResponseHeaders) return this.callResponse?.headers;
    if (type === MapType.HttpCallResponseTrailers) return this.callResponse?.trailers;
    return undefined;
  }

  override property(path: string): Uint8Array | undefined {
    return this.vm.pluginProperty(path);
  }
}
