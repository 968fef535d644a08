// SPDX-License-Identifier: Apache-2.0
// Names of the headers that the filter reads and writes.
import { HostText } from "../host/text";

/** Everything with this prefix is the filter's own: stripped from clients and from upstream responses. */
export const OWN_PREFIX = new HostText("x-smetric-");

export const TURN_HEADER = new HostText("x-smetric-turn");
export const VERIFIED_TURN_HEADER = new HostText("x-smetric-verified-turn");
export const SESSION_HEADER = new HostText("x-smetric-session");
export const PREFIX_TOKENS_HEADER = new HostText("x-smetric-prefix-tokens");
export const DECISION_HEADER = new HostText("x-smetric-decision");
export const ENDPOINT_HEADER = new HostText("x-smetric-endpoint");

export const METHOD = new HostText(":method");
export const PATH = new HostText(":path");
export const AUTHORITY = new HostText(":authority");
export const STATUS = new HostText(":status");
export const CONTENT_LENGTH = new HostText("content-length");
export const CONTENT_ENCODING = new HostText("content-encoding");
export const CONTENT_TYPE = new HostText("content-type");
/** Envoy's router writes it when an upstream has answered. */
export const SERVICE_TIME = new HostText("x-envoy-upstream-service-time");

export const POST = new HostText("POST");
export const IDENTITY = new HostText("identity");
