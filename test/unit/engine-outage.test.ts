import { describe, expect, it } from "vitest";
import type { ExchangeRequest, Ledger } from "../../src/ports/ledger.ts";
import {
  callOf,
  createEngine,
  type Engine,
  type EngineOptions,
  failures,
  quantile,
  sentBy,
} from "../fixtures/engine-harness.ts";

const MINUTE = 60_000;
const RATE = 2.79;

type Mode = "well" | "throws" | "rejects" | "hangs" | "late";
const MODES = ["throws", "rejects", "hangs", "late"] as const;

interface Store {
  mode: Mode;
  readonly requests: ExchangeRequest[];
  readonly wrap: NonNullable<EngineOptions["ledger"]>;
}

/** The ledger in memory, 10 ms away, that fails as it is told. `late`: it does its work, but the answer comes after 3 s. */
function faultyStore(): Store {
  const store: Store = {
    mode: "well",
    requests: [],
    wrap: (inner, clock): Ledger => ({
      exchange(pool, request) {
        store.requests.push(request);
        const { mode } = store;
        if (mode === "throws") throw new Error("store is out");
        if (mode === "rejects") return Promise.reject(new Error("store is out"));
        if (mode === "hangs") return new Promise(() => {});
        return new Promise((resolve) => {
          clock.after(5, () => {
            const reply = inner.exchange(pool, request);
            clock.after(mode === "late" ? 3_000 : 5, () => resolve(reply));
          });
        });
      },
    }),
  };
  return store;
}

async function closeRemote(engine: Engine): Promise<void> {
  await engine.clock.advance(5_000);
  const closed = engine.close();
  await engine.clock.advance(2_000);
  await closed;
  expect(engine.clock.pending()).toBe(0);
}

describe.each(MODES)("a store that %s", (mode) => {
  it("leaves the pool at half its rate, and full again when it is back", async () => {
    const store = faultyStore();
    const engine = createEngine({ keys: 3, ledger: store.wrap, sandbox: { counting: "sliding" } });
    const start = engine.clock.now();
    engine.clock.after(MINUTE, () => void (store.mode = mode));
    engine.clock.after(3 * MINUTE, () => void (store.mode = "well"));
    await engine.offer({ perSecond: 12, ms: 5 * MINUTE });
    const perMinute = (from: number, to: number) =>
      sentBy(engine, start + from * MINUTE, start + to * MINUTE).reduce((sum, n) => sum + n, 0) / (to - from);
    expect(perMinute(0, 1)).toBeGreaterThan(0.97 * 3 * RATE * 60);
    // Each time that the store is asked again in vain, a hanging one costs its time-out.
    expect(perMinute(1.1, 3)).toBeGreaterThan(0.45 * 3 * RATE * 60);
    expect(perMinute(1.1, 3)).toBeLessThan(0.51 * 3 * RATE * 60);
    expect(perMinute(3.6, 5)).toBeGreaterThan(0.97 * 3 * RATE * 60);
    expect(engine.sandbox.counts().total.refused).toBe(0);
    expect(engine.ofType("ledger_down")).toHaveLength(1);
    const [up, ...more] = engine.ofType("ledger_up");
    expect(more).toEqual([]);
    expect(up?.downMs).toBeGreaterThan(2 * MINUTE - 1_000);
    expect(up?.downMs).toBeLessThan(2 * MINUTE + 31_000);
    await closeRemote(engine);
  });

  it("hears everything once when it is back, and forgets no cooldown", async () => {
    const store = faultyStore();
    const keys = [{}, { perDay: 15 }, { invalid: true }];
    const engine = createEngine({ keys, ledger: store.wrap, etherscan: { strategy: "round_robin" } });
    engine.clock.after(20_000, () => void (store.mode = mode));
    engine.clock.after(MINUTE, () => void (store.mode = "well"));
    const outcomes = await engine.offer({ perSecond: 0.9, ms: 2 * MINUTE });
    expect(failures(outcomes)).toEqual([]);
    await engine.clock.advance(40_000);
    const counts = engine.sandbox.counts().keys;
    const { targets } = engine.upstream.stats();
    expect(targets.map(({ state }) => state)).toEqual(["ready", "parked", "disabled"]);
    for (const [i, { ok, failed, today }] of targets.entries()) {
      const { received = NaN, ok: answered = NaN } = counts[i] ?? {};
      expect([ok, failed]).toEqual([answered, received - answered]);
      // A lease whose reply was lost is counted and never used.
      expect(today - received).toBeGreaterThanOrEqual(0);
      expect(today - received).toBeLessThanOrEqual(mode === "late" ? 12 : 0);
    }
    expect(counts[1]?.refused).toBe(1);
    expect(counts[2]?.received).toBe(1);
    await closeRemote(engine);
  });

  it("is told again, by the same id, what it may have heard", async () => {
    const store = faultyStore();
    const engine = createEngine({ keys: 1, ledger: store.wrap });
    await engine.burst(1, 5_000);
    store.mode = mode;
    await engine.burst(2, 20_000);
    const [first] = store.requests.filter(({ id }) => id === store.requests.at(-1)?.id);
    store.mode = "well";
    await engine.clock.advance(60_000);
    const again = store.requests.filter(({ id }) => id === first?.id);
    expect(again.length).toBeGreaterThan(1);
    for (const request of again) expect(request.settle).toEqual(first?.settle);
    // Nobody called meanwhile: the news went by itself.
    expect(engine.ofType("ledger_up")).toHaveLength(1);
    expect(engine.upstream.stats().targets[0]).toMatchObject({ ok: 3 });
    await closeRemote(engine);
  });
});

describe("an outage", () => {
  it("keeps what was parked, disabled or learnt before, and learns on", async () => {
    const store = faultyStore();
    const keys = [{ perDay: 0 }, { perSecond: 2 }, {}, { perSecond: 1 }];
    const engine = createEngine({ keys, ledger: store.wrap, sandbox: { counting: "sliding" } });
    engine.sandbox.setKey(engine.keys[3] ?? "", { perSecond: 3 });
    await engine.offer({ perSecond: 6, ms: MINUTE, drainMs: 5_000 });
    expect(engine.ofType("limit_learned")).toHaveLength(1);
    store.mode = "rejects";
    engine.sandbox.setKey(engine.keys[3] ?? "", { perSecond: 1 });
    const from = engine.clock.now();
    engine.sandbox.resetCounts();
    await engine.offer({ perSecond: 6, ms: MINUTE, drainMs: 12_000 });
    expect(sentBy(engine, from)[0]).toBe(0);
    expect(sentBy(engine, from, from + MINUTE)[1]).toBeLessThan(0.52 * 1.86 * 60);
    store.mode = "well";
    await engine.offer({ perSecond: 2, ms: MINUTE });
    // What the key states at half the pace is compared with the ceiling, not with the half.
    const learnt = engine.ofType("limit_learned").map(({ limit, before }) => [before, limit]);
    expect(learnt).toEqual([
      [3, 2],
      [3, 1],
    ]);
    const { targets } = engine.upstream.stats();
    expect(targets.map(({ limit, state }) => [limit, state])).toEqual([
      [3, "parked"],
      [2, "ready"],
      [3, "ready"],
      [1, "ready"],
    ]);
    await closeRemote(engine);
  });

  it("is shared out: five gateways that lose the store spend half a pool together", async () => {
    const store = faultyStore();
    const engine = createEngine({ keys: 9, pools: 5, ledger: store.wrap, sandbox: { counting: "sliding" } });
    const start = engine.clock.now();
    engine.clock.after(MINUTE, () => void (store.mode = "hangs"));
    engine.clock.after(2 * MINUTE, () => void (store.mode = "well"));
    await engine.offer({ perSecond: 20, ms: 3 * MINUTE });
    const during = sentBy(engine, start + 1.1 * MINUTE, start + 2 * MINUTE).reduce((sum, n) => sum + n, 0);
    expect(during / 54).toBeLessThan(0.51 * 9 * RATE);
    expect(during / 54).toBeGreaterThan(0.35 * 9 * RATE);
    // Half on average, but each in its own time: now and then four of them meet in one second of a key.
    expect(engine.sandbox.counts().total.refused).toBeLessThan(0.1 * during);
    expect(engine.ofType("ledger_down")).toHaveLength(5);
    expect(engine.ofType("ledger_up")).toHaveLength(5);
    await closeRemote(engine);
  });

  it("does not stop a light load", async () => {
    const store = faultyStore();
    const engine = createEngine({ keys: 9, ledger: store.wrap });
    store.mode = "throws";
    const outcomes = await engine.offer({ perSecond: 5, ms: MINUTE, call: () => callOf() });
    expect(failures(outcomes)).toEqual([]);
    const took = outcomes.map(({ tookMs }) => tookMs);
    expect(quantile(took, 0.95)).toBeLessThan(500);
    store.mode = "well";
    await engine.clock.advance(40_000);
    expect(engine.upstream.stats().targets.reduce((sum, { ok }) => sum + ok, 0)).toBe(outcomes.length);
    await closeRemote(engine);
  });
});
