import { createStorage } from "unstorage";
import upstashDriver from "unstorage/drivers/upstash";
import type { Kv } from "../../src/index.ts";
import { unstorageKv } from "./kv.ts";

/** An Upstash Redis as the kv, beside the ledger in the same database. */
export function upstashKv({ url, token }: { readonly url: string; readonly token: string }, now: () => number): Kv {
  return unstorageKv(createStorage({ driver: upstashDriver({ base: "sluice-kv", url, token }) }), { now });
}
