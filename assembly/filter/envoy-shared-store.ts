// SPDX-License-Identifier: Apache-2.0
// Memory's shared store over proxy-wasm shared data: one map for all workers of this Envoy.
import { Landing } from "../host/landing";
import { readShared, writeShared } from "../host/shared-data";
import { Status } from "../host/status";
import { ABSENT, SharedStore, Write } from "../memory/shared-store";

/** Larger than any packed value; a foreign writer's larger one takes a heap block until the next read. */
const LANDING_BYTES: u32 = 80 * 1024;


@final
export class EnvoySharedStore extends SharedStore {
  private readonly landing: Landing = new Landing(LANDING_BYTES);

  read(key: usize, keySize: i32): bool {
    const version = readShared(this.landing, key, <u32>keySize);
    const found = version != 0;
    this.version = found ? version : ABSENT;
    this.data = this.landing.address;
    this.size = found ? <i32>this.landing.size : 0;
    return found;
  }

  write(key: usize, keySize: i32, data: usize, size: i32, version: u32): Write {
    const status = writeShared(key, <u32>keySize, data, <u32>size, version);
    if (status == Status.Ok) return Write.Written;
    return status == Status.CasMismatch ? Write.Conflict : Write.Failed;
  }
}
