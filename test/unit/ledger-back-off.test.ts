import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Lease, Settlement } from "../../src/ports/ledger.ts";
import { NOON, PureStore, settled, wanting } from "../fixtures/pure-store.ts";

const FAULT = { baseMs: 500, capMs: 30_000, reason: "network" };
const failing = (lease: Lease): Settlement => settled(lease, "failed", { error: "network", backoff: FAULT });

/** When the target's cooldown ends, milliseconds from `now`. */
function leftOf(store: PureStore, now: number): number {
  const gate = store.target("t")?.gate;
  return gate?.kind === "cooling" ? gate.until - now : 0;
}

/** One call as soon as there is a slot; returns its lease. */
function next(store: PureStore, now: number, dice = 0): Lease {
  const { leases } = store.run(now, { want: [wanting(1)], dice });
  return leases[0] as Lease;
}

describe("back-off", () => {
  it.each([
    { dice: 0, expected: [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000] },
    { dice: 0.5, expected: [563, 1_125, 2_250, 4_500, 9_000, 18_000, 30_000, 30_000] },
  ])("doubles with every failure in a row, is jittered, and capped at 30 s (dice $dice)", ({ dice, expected }) => {
    const store = new PureStore();
    let now = NOON;
    const waits = expected.map(() => {
      const lease = next(store, now);
      now = lease.at + 100;
      store.run(now, { settle: [failing(lease)], dice });
      const left = leftOf(store, now);
      now += left;
      return Math.round(left);
    });
    expect(waits).toEqual(expected);
  });

  it("stays capped however many failures there are, with numbers that stay finite", () => {
    const store = new PureStore();
    let now = NOON;
    for (let i = 0; i < 2_000; i++) {
      const lease = next(store, now);
      now = lease.at + 10;
      store.run(now, { settle: [failing(lease)] });
      now += leftOf(store, now);
    }
    expect(store.target("t")?.failed).toBe(2_000);
    expect(store.target("t")?.strikes).toBeLessThanOrEqual(30);
  });

  it("escalates once per cooldown: calls that were under way report the same fault again", () => {
    const permutation = fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: 5 });
    fc.assert(
      fc.property(
        permutation,
        fc.array(fc.integer({ min: 0, max: 9_000 }), { minLength: 5, maxLength: 5 }),
        (order, waits) => {
          const store = new PureStore();
          const { leases } = store.run(NOON, { want: [wanting(5)] });
          let now = NOON + 1_500;
          const settle = order.map((i) => failing(leases[i] as Lease));
          store.run(now, { settle: settle.slice(0, 1) });
          const until = now + leftOf(store, now);
          // The others time out later, some of them after the cooldown has ended.
          for (const [i, item] of settle.slice(1).entries()) {
            now += waits[i] ?? 0;
            store.run(now, { settle: [item] });
          }
          expect(store.target("t")).toMatchObject({ strikes: 1, failed: 5, gate: { kind: "cooling", until } });
        },
      ),
    );
  });

  it("starts anew after a success", () => {
    const store = new PureStore();
    const first = next(store, NOON);
    store.run(NOON + 10, { settle: [failing(first)] });
    const second = next(store, NOON + 600);
    store.run(second.at + 10, { settle: [settled(second, "ok")] });
    expect(store.target("t")?.strikes).toBe(0);
    const third = next(store, second.at + 400);
    store.run(third.at + 10, { settle: [failing(third)], dice: 0 });
    expect(Math.round(leftOf(store, third.at + 10))).toBe(500);
  });

  it("does not start anew after the late success of a call sent before the cooldown", () => {
    const store = new PureStore();
    const { leases } = store.run(NOON, { want: [wanting(2)] });
    store.run(NOON + 400, { settle: [failing(leases[0] as Lease)] });
    store.run(NOON + 800, { settle: [settled(leases[1] as Lease, "ok")] });
    expect(store.target("t")?.strikes).toBe(1);
  });

  it("takes what the upstream asks for when that is longer", () => {
    const store = new PureStore();
    const lease = next(store, NOON);
    const cool = { what: "target", ms: 7_000, reason: "retry_after" } as const;
    store.run(NOON + 10, { settle: [settled(lease, "failed", { backoff: FAULT, cool })] });
    expect(leftOf(store, NOON + 10)).toBe(7_000);
    expect(store.target("t")?.strikes).toBe(1);
  });

  it("is the target's own: its bucket stays open to others", () => {
    const store = new PureStore();
    const lease = next(store, NOON);
    store.run(NOON + 10, { settle: [failing(lease)] });
    const { leases } = store.run(NOON + 20, { want: [wanting(1, 1_500, { target: "mate" })] });
    expect(leases).toHaveLength(1);
  });
});

describe("what a target cannot serve", () => {
  const slot = { bucket: "b", target: "t", at: NOON, epoch: 0 };
  const cannot = (store: PureStore, now: number, need: string, ms: number) =>
    store.run(now, { settle: [settled(slot, "neutral", { cannot: { need, ms } })] });

  it("is kept for each need until its end, and a shorter word shortens nothing", () => {
    const store = new PureStore();
    cannot(store, NOON, "chain:10", 900_000);
    cannot(store, NOON + 1_000, "chain:10", 60_000);
    cannot(store, NOON + 2_000, "chain:137", 60_000);
    expect(store.target("t")?.cannot).toEqual({ "chain:10": NOON + 900_000, "chain:137": NOON + 62_000 });
    cannot(store, NOON + 62_000, "chain:8453", 60_000);
    expect(store.target("t")?.cannot).toEqual({ "chain:10": NOON + 900_000, "chain:8453": NOON + 122_000 });
  });

  it("is the latest sixteen needs at most", () => {
    const store = new PureStore();
    for (let i = 0; i < 40; i++) cannot(store, NOON + i, `chain:${i}`, 900_000);
    expect(Object.keys(store.target("t")?.cannot ?? {})).toEqual(
      Array.from({ length: 16 }, (_, i) => `chain:${i + 24}`),
    );
  });
});
