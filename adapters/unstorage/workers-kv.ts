import { createStorage } from "unstorage";
import workersKvDriver from "unstorage/drivers/cloudflare-kv-binding";
import type { Kv } from "../../src/index.ts";
import { unstorageKv } from "./kv.ts";

/** A Workers KV namespace, as far as it is used. */
export interface KvBinding {
  get(key: string): Promise<string | null>;
  put(key: string, value: string, options?: { readonly expirationTtl?: number }): Promise<void>;
  delete(key: string): Promise<void>;
  list(options?: object): Promise<unknown>;
}

/** Workers KV as the kv: a write may take a minute to reach other colos, and one key takes one write a second. */
export function workersKv(binding: KvBinding, now: () => number): Kv {
  return unstorageKv(createStorage({ driver: workersKvDriver({ binding: binding as never }) }), { now });
}
