import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { NOON } from "../fixtures/pure-store.ts";
import { bundleWorker, startWorkerd, type Workerd } from "../fixtures/workerd.ts";
import type { KvOrder } from "../fixtures/workers/kv-worker.ts";
import { kvContract, type KvStore } from "./kv.ts";

let workerd: Workerd;

beforeAll(async () => {
  const script = await bundleWorker(join(import.meta.dirname, "../fixtures/workers/kv-worker.ts"));
  workerd = await startWorkerd({ script, kv: true });
}, 60_000);
afterAll(() => workerd.stop());

async function openWorkersKv(): Promise<KvStore> {
  let now = NOON;
  const order = async (body: Omit<KvOrder, "now">): Promise<unknown> => {
    const response = await fetch(workerd.urls[0] ?? "", { method: "POST", body: JSON.stringify({ ...body, now }) });
    if (!response.ok) throw new Error(await response.text());
    return response.json();
  };
  return {
    kv: {
      getItem: (key) => order({ op: "getItem", key }),
      setItem: async (key, value, { ttl } = {}) => {
        await order({ op: "setItem", key, value, ttl: ttl === undefined ? ttl : String(ttl) });
      },
      removeItem: async (key) => void (await order({ op: "removeItem", key })),
      getKeys: async (base) => (await order({ op: "getKeys", key: base })) as string[],
    },
    advance: (ms) => void (now += ms),
    close: async () => void (await order({ op: "clear" })),
  };
}

kvContract("Workers KV", openWorkersKv, { listsExpired: true });

test("Workers KV keeps what an isolate leaves", async () => {
  const { kv, close } = await openWorkersKv();
  await kv.setItem("gas:eth", { gwei: 12 }, { ttl: 3_600 });
  await workerd.restart();
  expect(await kv.getItem("gas:eth")).toEqual({ gwei: 12 });
  expect(await kv.getKeys("gas:")).toEqual(["gas:eth"]);
  await close();
});
