import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HORIZON_MS } from "../../src/ledger/exchange.ts";
import type { Lease, Settlement, Want } from "../../src/ports/ledger.ts";
import type { TargetState } from "../../src/ports/state.ts";
import { busiest, NOON, PureStore, settled, TERMS, wanting } from "../fixtures/pure-store.ts";

describe("exchange: slots", () => {
  it("spaces three calls a second by (window + jitter) / 3", () => {
    const store = new PureStore();
    const { leases } = store.run(NOON, { want: [wanting(4)] });
    expect(leases.map(({ at }) => Math.round(at - NOON))).toEqual([0, 358, 717, 1075]);
  });

  it("refuses without consuming a slot when the deadline comes before the slot", () => {
    const store = new PureStore();
    store.run(NOON, { want: [wanting(1)] });
    const before = store.bucket("b")?.tat;
    const { leases, retryAt } = store.run(NOON, { id: "a:2", want: [wanting(1, 300)] });
    expect(leases).toEqual([]);
    expect(retryAt[0]).toBeGreaterThan(NOON);
    expect(store.bucket("b")?.tat).toBe(before);
  });

  it("grants nothing beyond the horizon, however many are wanted", () => {
    const { leases, retryAt } = new PureStore().run(NOON, { want: [wanting(50, 60_000)] });
    expect(leases).toHaveLength(5);
    expect(Math.max(...leases.map(({ at }) => at))).toBeLessThanOrEqual(NOON + HORIZON_MS);
    expect(retryAt[0]).toBeGreaterThan(0);
  });

  it("reissues a returned slot first, and only while it lies ahead", () => {
    const store = new PureStore();
    const { leases } = store.run(NOON, { want: [wanting(3)] });
    const second = leases[1] as Lease;
    const again = store.run(NOON + 10, { id: "a:2", settle: [settled(second, "unused")], want: [wanting(1)] });
    expect(again.leases[0]?.at).toBe(second.at);
    const third = leases[2] as Lease;
    const late = store.run(third.at + 1, { id: "a:3", settle: [settled(third, "unused")], want: [wanting(1)] });
    expect(late.leases[0]?.at).toBeGreaterThan(third.at);
  });

  it("never lets more than N instants into any window, whatever clients ask, return, and are refused", () => {
    const step = fc.record({
      waitMs: fc.integer({ min: 0, max: 900 }),
      client: fc.constantFrom("a", "b", "c"),
      n: fc.integer({ min: 0, max: 6 }),
      withinMs: fc.integer({ min: 0, max: 3_000 }),
      returned: fc.boolean(),
      refused: fc.option(fc.constantFrom(0, 1, 2, 3), { nil: undefined }),
      skew: fc.integer({ min: -5_000, max: 5_000 }),
      repeat: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const store = new PureStore();
        const sequence = { a: 0, b: 0, c: 0 };
        let now = NOON;
        let open: Lease[] = [];
        const sent: number[] = [];
        for (const { waitMs, client, n, withinMs, returned, refused, repeat, skew } of steps) {
          now += waitMs;
          const settle: Settlement[] = [];
          const due = open.filter((lease) => lease.at <= now);
          open = open.filter((lease) => lease.at > now);
          sent.push(...due.map(({ at }) => at));
          const [back] = open;
          if (returned && back !== undefined) {
            open = open.slice(1);
            settle.push(settled(back, "unused"));
          }
          if (refused !== undefined && due[0] !== undefined) {
            const cool = { what: "bucket", ms: 1_000, reason: "test" } as const;
            settle.push(settled(due[0], "refused", { observedLimit: refused, cool }));
          }
          const id = `${client}:${repeat ? sequence[client] : ++sequence[client]}`;
          // The store's own clock may jump: the reducer must not follow it back.
          const { leases } = store.run(now + (skew < 0 ? skew : 0), {
            id,
            settle,
            want: n > 0 ? [wanting(n, withinMs)] : [],
          });
          open.push(...leases);
        }
        // What is still held is sent at its instant unless a recalibration made it void.
        const epoch = store.bucket("b")?.epoch ?? 0;
        sent.push(...open.filter((lease) => lease.epoch === epoch).map(({ at }) => at));
        expect(busiest(sent, TERMS.windowMs)).toBeLessThanOrEqual(3);
      }),
      { numRuns: 300 },
    );
  });

  it("settles a request once, however often it is delivered", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 0, max: 3 }), (times, later) => {
        const once = new PureStore();
        const often = new PureStore();
        for (const store of [once, often]) {
          const { leases } = store.run(NOON, { want: [wanting(1)] });
          const request = {
            id: "a:2",
            settle: [settled(leases[0] as Lease, "failed", { backoff: { baseMs: 500, capMs: 30_000, reason: "x" } })],
          };
          for (let i = 0; i < (store === once ? 1 : times + 1); i++) store.run(NOON + 100 * (i + 1) * later, request);
        }
        const strip = (state: TargetState | undefined) => ({ ...state, version: 0 });
        if (later === 0) expect(strip(often.target("t"))).toEqual(strip(once.target("t")));
        expect(often.target("t")?.failed).toBe(1);
        expect(often.target("t")?.strikes).toBe(1);
      }),
    );
  });

  it("a bucket whose members are several targets is one timeline", () => {
    const store = new PureStore();
    const want = (target: string): Want => ({
      n: 2,
      withinMs: 5_000,
      cost: 1,
      picks: [{ bucket: "b", target, penaltyMs: 0 }],
    });
    const { leases } = store.run(NOON, { want: [want("t1"), want("t2")] });
    expect(leases.map(({ at }) => Math.round(at - NOON))).toEqual([0, 358, 717, 1075]);
  });

  it("takes the cheapest place by start + penalty, the first of equals", () => {
    const store = new PureStore();
    const picks = [
      { bucket: "sick", target: "sick", penaltyMs: 500 },
      { bucket: "b1", target: "b1", penaltyMs: 0 },
      { bucket: "b2", target: "b2", penaltyMs: 0 },
    ];
    const { leases } = store.run(NOON, { want: [{ n: 6, withinMs: 1_500, cost: 1, picks }] });
    expect(leases.map(({ target }) => target)).toEqual(["b1", "b2", "b1", "b2", "sick", "b1"]);
  });

  it("a weighted call takes as many gaps as it costs, and its refund never reaches behind now", () => {
    const store = new PureStore();
    const heavy = { ...wanting(1), cost: 3 };
    const { leases } = store.run(NOON, { want: [heavy] });
    expect(Math.round((store.bucket("b")?.tat ?? 0) - NOON)).toBe(1_075);
    store.run(NOON + 100, { id: "a:2", settle: [settled(leases[0] as Lease, "ok", { costDelta: -2 })] });
    expect(Math.round((store.bucket("b")?.tat ?? 0) - NOON)).toBe(358);
    store.run(NOON + 5_000, { id: "a:3", settle: [settled(leases[0] as Lease, "ok", { costDelta: 2 })] });
    expect(store.bucket("b")?.tat).toBeGreaterThanOrEqual(NOON + 358);
  });

  it("charges the uncertainty of clocks when another client takes over a bucket", () => {
    const store = new PureStore();
    store.run(NOON, { want: [wanting(1)] });
    const { leases } = store.run(NOON, { id: "b:1", skewMs: 30, want: [wanting(1)] });
    expect(Math.round((leases[0]?.at ?? 0) - NOON)).toBe(358 + 30);
  });
});

describe("exchange: the day", () => {
  const daily = { ...TERMS, dailyStop: 2 };

  it("stops at the daily stop until 5 to 60 s after midnight UTC", () => {
    const store = new PureStore();
    expect(store.run(NOON, { terms: daily, want: [wanting(3)] }).leases).toHaveLength(2);
    const midnight = Date.UTC(2026, 10, 30);
    expect(store.run(midnight - 2_000, { id: "a:2", terms: daily, want: [wanting(1)] }).leases).toEqual([]);
    const { leases } = store.run(midnight - 1, { id: "a:3", dice: 0, terms: daily, want: [wanting(1)] });
    expect(leases).toEqual([]);
    expect(store.run(midnight, { id: "a:4", terms: daily, want: [wanting(1)] }).leases).toHaveLength(1);
  });

  it("parks a bucket until after midnight when the upstream says that the day is spent", () => {
    const store = new PureStore();
    const { leases } = store.run(NOON, { want: [wanting(1)] });
    store.run(NOON + 50, { id: "a:2", settle: [settled(leases[0] as Lease, "refused", { parkDay: true })], dice: 0 });
    const midnight = Date.UTC(2026, 10, 30);
    expect(store.run(midnight + 3_000, { id: "a:3", want: [wanting(1, 1_000)] }).leases).toEqual([]);
    expect(store.run(midnight + 5_000, { id: "a:4", want: [wanting(1)] }).leases).toHaveLength(1);
  });

  it("spreads the day's quota over the day when it paces", () => {
    const paced = { ...TERMS, dailyStop: 8_640, dailyPacing: true };
    const store = new PureStore();
    let sent = 0;
    for (let s = 0; s < 3_600; s++) {
      const request = { id: `a:${s}`, terms: paced, want: [wanting(3, 1_000)] };
      sent += store.run(NOON + s * 1_000, request).leases.length;
    }
    // One call in ten seconds, and a burst of a tenth of the day.
    expect(sent).toBeGreaterThan(864 + 300);
    expect(sent).toBeLessThan(864 + 400);
  });
});
