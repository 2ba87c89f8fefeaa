import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { count, EMPTY_WINDOW, sum } from "../../src/ledger/window.ts";
import type { Lease } from "../../src/ports/ledger.ts";
import { NOON, PureStore, settled, wanting } from "../fixtures/pure-store.ts";

const SLICE_MS = 30_000;
const MINUTES = [5, 15] as const;

describe("the use of the last 5 and 15 minutes", () => {
  it("is exact to a slice of half a minute: equal to a list of all calls, at any time", () => {
    const event = fc.record({
      waitMs: fc.oneof(fc.integer({ min: 0, max: 40_000 }), fc.integer({ min: 0, max: 1_200_000 })),
      used: fc.integer({ min: 0, max: 5 }),
      failed: fc.integer({ min: 0, max: 3 }),
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 80 }), fc.integer({ min: 0, max: 1_200_000 }), (events, idleMs) => {
        let window = EMPTY_WINDOW;
        let now = NOON;
        const all: { slice: number; used: number; failed: number }[] = [];
        const agrees = () => {
          const slice = Math.floor(now / SLICE_MS);
          for (const minutes of MINUTES) {
            const recent = all.filter((entry) => entry.slice > slice - minutes * 2);
            for (const what of ["used", "failed"] as const) {
              const naive = recent.reduce((total, entry) => total + entry[what], 0);
              expect(sum(window, what, now, minutes)).toBe(naive);
            }
          }
        };
        for (const { waitMs, used, failed } of events) {
          now += waitMs;
          agrees();
          window = count(window, now, used, failed);
          all.push({ slice: Math.floor(now / SLICE_MS), used, failed });
          agrees();
          expect(window.used.length).toBeLessThanOrEqual(30);
          expect(window.failed.length).toBeLessThanOrEqual(30);
        }
        now += idleMs;
        agrees();
      }),
      { numRuns: 200 },
    );
  });

  it("counts what comes with an older time into the newest slice, and never falls below zero", () => {
    let window = count(EMPTY_WINDOW, NOON, 2, 0);
    window = count(window, NOON - 120_000, 1, 0);
    expect(sum(window, "used", NOON, 5)).toBe(3);
    window = count(window, NOON, -9, -1);
    expect(sum(window, "used", NOON, 5)).toBe(0);
    expect(sum(window, "failed", NOON, 5)).toBe(0);
  });

  it("is each target's: granted less given back, and what failed", () => {
    const store = new PureStore();
    const { leases } = store.run(NOON, { want: [wanting(5)] });
    const [ok, refused, failed, unused, neutral] = leases as [Lease, Lease, Lease, Lease, Lease];
    const settle = [
      settled(ok, "ok"),
      settled(refused, "refused"),
      settled(failed, "failed"),
      settled(unused, "unused"),
      settled(neutral, "neutral"),
    ];
    store.run(NOON + 1_400, { settle });
    const target = store.target("t");
    expect(sum(target?.window ?? EMPTY_WINDOW, "used", NOON, 5)).toBe(4);
    expect(sum(target?.window ?? EMPTY_WINDOW, "failed", NOON, 5)).toBe(2);
    expect(target).toMatchObject({ ok: 2, failed: 2 });
    expect(sum(target?.window ?? EMPTY_WINDOW, "used", NOON + 301_000, 5)).toBe(0);
    expect(sum(target?.window ?? EMPTY_WINDOW, "used", NOON + 301_000, 15)).toBe(4);
  });
});
