import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DAY_MS, dayOf, usedToday } from "../../src/ledger/window.ts";
import type { Lease, Settlement } from "../../src/ports/ledger.ts";
import { MIDNIGHT, NOON, PureStore, settled, TERMS, wanting } from "../fixtures/pure-store.ts";

const daily = (dailyStop: number) => ({ ...TERMS, dailyStop });
const usedOf = (store: PureStore, now: number): number =>
  usedToday(store.bucket("b")?.today ?? { day: 0, used: 0 }, now);
const parking = (lease: Lease): Settlement => settled(lease, "refused", { parkDay: true, error: "rate_limited_daily" });

describe("the count of the day", () => {
  it("counts what was granted, less what was given back, for the bucket and for each of its targets", () => {
    const store = new PureStore();
    const { leases } = store.run(NOON, { want: [wanting(3), wanting(2, 2_000, { target: "mate" })] });
    expect(leases).toHaveLength(5);
    const back = [leases[1], leases[4]] as [Lease, Lease];
    store.run(NOON + 1, { settle: back.map((lease) => settled(lease, "unused")) });
    expect(store.bucket("b")?.today).toEqual({ day: dayOf(NOON), used: 3 });
    expect(store.target("t")?.today.used).toBe(2);
    expect(store.target("mate")?.today.used).toBe(1);
  });

  it("begins anew at midnight UTC, slots granted ahead counted on their own day", () => {
    const store = new PureStore();
    const { leases } = store.run(MIDNIGHT - 500, { want: [wanting(4)] });
    expect(leases.map(({ at }) => dayOf(at) - dayOf(NOON))).toEqual([0, 0, 1, 1]);
    expect(usedOf(store, MIDNIGHT)).toBe(2);
  });

  it("ignores what comes back from yesterday", () => {
    const store = new PureStore();
    const { leases } = store.run(MIDNIGHT - 400, { want: [wanting(1)] });
    store.run(MIDNIGHT + 10, { want: [wanting(1)] });
    store.run(MIDNIGHT + 20, { settle: [settled(leases[0] as Lease, "unused")] });
    expect(usedOf(store, MIDNIGHT + 20)).toBe(1);
  });

  it("is what it was before for a slot of yesterday that comes back while nobody has called today", () => {
    const store = new PureStore();
    const { leases } = store.run(MIDNIGHT - 400, { want: [wanting(1)] });
    store.run(MIDNIGHT + 20, { settle: [settled(leases[0] as Lease, "unused")] });
    expect(usedOf(store, MIDNIGHT + 20)).toBe(0);
    expect(store.bucket("b")?.today.used).toBe(0);
  });

  it("never exceeds the daily stop on any day, whatever is asked and given back around midnight", () => {
    const step = fc.record({
      waitMs: fc.integer({ min: 0, max: 700 }),
      n: fc.integer({ min: 0, max: 5 }),
      returned: fc.boolean(),
      dice: fc.double({ min: 0, max: 0.999, noNaN: true }),
      desperate: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.integer({ min: 0, max: 6 }), (steps, stop) => {
        const store = new PureStore();
        let now = MIDNIGHT - 4_000;
        let open: Lease[] = [];
        const sent: Lease[] = [];
        for (const { waitMs, n, returned, dice, desperate } of steps) {
          now += waitMs;
          sent.push(...open.filter((lease) => lease.at <= now));
          open = open.filter((lease) => lease.at > now);
          const back = returned ? open.splice(0, 1) : [];
          const settle = back.map((lease) => settled(lease, "unused"));
          const want = [{ ...wanting(n, 1_500), ...(desperate ? { ignoreCooldown: true } : {}) }];
          open.push(...store.run(now, { terms: daily(stop), settle, want, dice }).leases);
        }
        const days = Map.groupBy([...sent, ...open], ({ at }) => dayOf(at));
        for (const [day, calls] of days) expect(calls.length, `calls of day ${day}`).toBeLessThanOrEqual(stop);
      }),
      { numRuns: 400 },
    );
  });
});

describe("a bucket whose day is spent", () => {
  it.each([
    { dice: 0, seconds: 5 },
    { dice: 0.5, seconds: 32.5 },
    { dice: 0.999, seconds: 59.945 },
  ])("by the upstream's word is parked until $seconds s after midnight UTC (dice $dice)", ({ dice, seconds }) => {
    const store = new PureStore();
    const { leases } = store.run(NOON, { want: [wanting(1)] });
    store.run(NOON + 80, { settle: [parking(leases[0] as Lease)], dice });
    const gate = { kind: "cooling", until: MIDNIGHT + seconds * 1_000, reason: "rate_limited_daily", ramp: true };
    expect(store.bucket("b")?.gate).toEqual(gate);
    expect(store.bucket("b")?.today).toEqual({ day: dayOf(NOON), used: 1, spent: true });
  });

  it("stays parked to the later of two ends, and wakes with one probe", () => {
    const store = new PureStore();
    const { leases } = store.run(NOON, { want: [wanting(2)] });
    store.run(NOON + 500, { settle: [parking(leases[0] as Lease)], dice: 0.5 });
    store.run(NOON + 600, { settle: [parking(leases[1] as Lease)], dice: 0.1 });
    expect(store.run(MIDNIGHT + 30_000, { want: [wanting(3)] }).leases).toEqual([]);
    expect(store.run(MIDNIGHT + 32_500, { want: [wanting(3)] }).leases).toHaveLength(1);
  });

  it("told of late, across midnight: parked for the few seconds that are left of the spread", () => {
    const store = new PureStore();
    const { leases } = store.run(MIDNIGHT - 300, { want: [wanting(1)] });
    store.run(MIDNIGHT + 2_000, { settle: [parking(leases[0] as Lease)], dice: 0 });
    expect(store.bucket("b")?.gate).toMatchObject({ kind: "cooling", until: MIDNIGHT + 5_000 });
    expect(store.run(MIDNIGHT + 5_000, { want: [wanting(1)] }).leases).toHaveLength(1);
  });

  it("told of much later: today is not yesterday", () => {
    const store = new PureStore();
    const { leases } = store.run(MIDNIGHT - 300, { want: [wanting(1)] });
    store.run(MIDNIGHT + 200_000, { want: [wanting(1)] });
    store.run(MIDNIGHT + 300_000, { settle: [parking(leases[0] as Lease)], dice: 0.9 });
    expect(store.bucket("b")?.gate).toEqual({ kind: "open" });
    expect(store.bucket("b")?.today).toEqual({ day: dayOf(MIDNIGHT), used: 1 });
    expect(store.run(MIDNIGHT + 301_000, { want: [wanting(3)] }).leases).toHaveLength(3);
  });

  it("by our count is out until midnight only, and a slot given back is a call again", () => {
    const store = new PureStore();
    const { leases } = store.run(NOON, { terms: daily(2), want: [wanting(4)] });
    expect(leases).toHaveLength(2);
    expect(store.run(NOON + 1, { terms: daily(2), want: [wanting(1)] }).leases).toEqual([]);
    const settle = [settled(leases[1] as Lease, "unused")];
    expect(store.run(NOON + 2, { terms: daily(2), settle, want: [wanting(2)] }).leases).toHaveLength(1);
    expect(store.run(MIDNIGHT, { terms: daily(2), want: [wanting(4)] }).leases).toHaveLength(2);
    expect(store.run(MIDNIGHT + DAY_MS, { terms: daily(2), want: [wanting(4)] }).leases).toHaveLength(2);
  });

  it("says when to ask again: near its end, at different times for different clients", () => {
    const store = new PureStore();
    store.run(NOON, { terms: daily(1), want: [wanting(1)] });
    const ask = (dice: number) => store.run(NOON + 10, { terms: daily(1), want: [wanting(1)], dice }).retryAt[0] ?? 0;
    const early = ask(0.1);
    expect(early).toBeGreaterThan(MIDNIGHT);
    expect(ask(0.9)).toBeGreaterThan(early);
    expect(ask(0.9)).toBeLessThanOrEqual(MIDNIGHT + 60_000);
  });
});
