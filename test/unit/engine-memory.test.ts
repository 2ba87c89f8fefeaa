import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { SluiceError } from "../../src/errors.ts";
import { EMPTY_HEAD, exchange, type PoolRows } from "../../src/ledger/exchange.ts";
import type { Changes, ExchangeReply, ExchangeRequest, Ledger } from "../../src/ports/ledger.ts";
import type { BucketState, PoolHead, TargetState } from "../../src/ports/state.ts";
import { createSluice } from "../../src/sluice.ts";
import { etherscan } from "../../src/upstreams/etherscan/index.ts";
import { callOf } from "../fixtures/engine-harness.ts";
import { createFakeClock } from "../fixtures/fake-clock.ts";
import { sandboxKeys } from "../fixtures/sandbox-etherscan.ts";
import { registerSecrets } from "../fixtures/secret-sink.ts";

const CALLS = 100_000;
const KEYS = 20;

/** A ledger whose rows can be looked at. */
class OpenLedger implements Ledger, PoolRows {
  head: PoolHead = EMPTY_HEAD;
  mostSettled = 0;
  readonly buckets = new Map<string, BucketState>();
  readonly targets = new Map<string, TargetState>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  bucket(id: string): BucketState | undefined {
    return this.buckets.get(id);
  }

  target(id: string): TargetState | undefined {
    return this.targets.get(id);
  }

  exchange(_pool: string, request: ExchangeRequest): ExchangeReply {
    const result = exchange(this, request, this.#now());
    this.head = result.head;
    this.mostSettled = Math.max(this.mostSettled, request.settle.length);
    for (const [id, row] of result.buckets) this.buckets.set(id, row);
    for (const [id, row] of result.targets) this.targets.set(id, row);
    const changes: Changes = {
      buckets: Object.fromEntries(result.buckets),
      targets: Object.fromEntries(result.targets),
    };
    return { ...result.reply, changes, version: result.head.version };
  }

  get bytes(): { head: number; row: number } {
    const rows = [...this.buckets.values(), ...this.targets.values()].map((row) => JSON.stringify(row).length);
    return { head: JSON.stringify(this.head).length, row: Math.max(...rows) };
  }
}

const json = (body: string, status = 200) => new Response(body, { status });
const refusal = (result: string) => json(JSON.stringify({ status: "0", message: "NOTOK", result }));

/** Bad answers of every kind, so many that most keys stay in use. */
function answer(n: number, { url }: Request): Response {
  if (n % 1_000 === 3) return refusal("Max calls per sec rate limit reached (1000/sec)");
  if (n % 10 === 9 && !url.includes("chainid=1&"))
    return refusal("Free API access is not supported for this chain. Please upgrade your api plan.");
  if (n % 500 === 17) return json("<html>502 Bad Gateway</html>", 502);
  if (n % 500 === 223) throw new TypeError("fetch failed");
  return json('{"status":"1","message":"OK","result":"1"}');
}

it("nothing grows over a hundred thousand calls with faults of every kind", { timeout: 60_000 }, async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage: unknown = runInNewContext("gc");
  if (typeof collectGarbage !== "function") throw new Error("the heap cannot be measured without gc");
  const clock = createFakeClock();
  const ledger = new OpenLedger(() => clock.now());
  const keys = sandboxKeys(KEYS);
  registerSecrets(...keys);
  let requests = 0;
  const upstreams = { etherscan: etherscan({ keys, callsPerSec: 1_000, dailyCap: null, maxWaitMs: 2_000 }) };
  const transport = (request: Request) => Promise.resolve().then(() => answer(requests++, request));
  const sluice = createSluice({ upstreams }, { ledger, clock, transport, events: { emit: () => {} } });
  const upstream = sluice.upstream("etherscan");
  let done = 0;

  const run = async (calls: number): Promise<{ heap: number; head: number; row: number }> => {
    for (let i = 0; i < calls; i++) {
      // Every fourth call is for a chain of its own; every tenth client leaves at once.
      const chain = i % 4 === 0 ? 2 + ((i * 7) % 5_000) : 1;
      const leaver = new AbortController();
      const sent = upstream.send(callOf({ chainid: String(chain) }), { signal: leaver.signal });
      void sent.catch((error: unknown) => expect(error).toBeInstanceOf(SluiceError)).finally(() => void done++);
      if (i % 10 === 0) leaver.abort();
      if (i % 20 === 0) await clock.advance(20);
    }
    await clock.advance(60_000);
    Reflect.apply(collectGarbage, undefined, []);
    return { heap: process.memoryUsage().heapUsed, ...ledger.bytes };
  };

  const early = await run(0.3 * CALLS);
  const late = await run(0.7 * CALLS);
  expect(done).toBe(CALLS);
  expect(requests).toBeGreaterThan(0.85 * CALLS);
  expect(late.heap - early.heap).toBeLessThan(3_000_000);
  expect(ledger.buckets.size).toBe(KEYS);
  expect(ledger.targets.size).toBe(KEYS);
  // Twelve followed buckets with twelve partners each, and the latest instants.
  expect(late.head).toBeLessThan(16_000);
  expect(late.row).toBeLessThan(2_000);
  // The exchanger's own bound on what may be pending.
  expect(ledger.mostSettled).toBeLessThanOrEqual(1_000);
  for (const { cannot } of ledger.targets.values()) expect(Object.keys(cannot).length).toBeLessThanOrEqual(16);
  for (const { free } of ledger.buckets.values()) expect(free.length).toBeLessThanOrEqual(16);
  expect(Object.keys(ledger.head.clients)).toHaveLength(1);
  expect(upstream.stats()).toMatchObject({ queued: 0, slots: 0, inFlight: 0 });
  expect(clock.pending()).toBe(0);
  await sluice.close();
});
