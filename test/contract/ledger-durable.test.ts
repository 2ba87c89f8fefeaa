import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import type { ExchangeReply, Ledger } from "../../src/ports/ledger.ts";
import { NOON } from "../fixtures/pure-store.ts";
import { bundleWorker, startWorkerd, type Workerd } from "../fixtures/workerd.ts";
import { ledgerContract } from "./ledger.ts";

let workerd: Workerd;
let stores = 0;

beforeAll(async () => {
  const script = await bundleWorker(join(import.meta.dirname, "../fixtures/workers/ledger-worker.ts"));
  workerd = await startWorkerd({ script, ledger: "TestLedger", isolates: 2 });
}, 60_000);
afterAll(() => workerd.stop());

ledgerContract("Durable Object", async () => {
  const store = ++stores;
  let now = NOON;
  let connections = 0;
  const post = async (url: string | undefined, order: object): Promise<Response> => {
    const response = await fetch(url ?? "", { method: "POST", body: JSON.stringify(order) });
    if (!response.ok) throw new Error(await response.text());
    return response;
  };
  const connect = async (): Promise<Ledger> => {
    const isolate = connections++ % 2;
    return {
      exchange: async (pool, request) => {
        const response = await post(workerd.urls[isolate], {
          pool: `${store}-${pool}`,
          request: { ...request, testNow: now },
        });
        return (await response.json()) as ExchangeReply;
      },
    };
  };
  return {
    connect,
    advance: async (ms) => void (now += ms),
    restart: () => workerd.restart(),
    close: async () => {},
  };
});
