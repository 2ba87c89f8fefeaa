import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isSick, observe, sickness, UNKNOWN_HEALTH } from "../../src/ledger/health.ts";
import type { HealthState } from "../../src/ports/state.ts";
import { NOON } from "../fixtures/pure-store.ts";

/** `calls` answers, one a second, of which every so-manieth is bad; the last one is. */
function failing(share: number, calls: number): { health: HealthState; now: number } {
  let health = UNKNOWN_HEALTH;
  let now = NOON;
  let due = 0;
  for (let i = 1; i <= calls; i++) {
    now += 1_000;
    due += share;
    const isBad = due >= 1 || i === calls;
    if (isBad) due = Math.max(0, due - 1);
    health = observe(health, !isBad, now);
  }
  return { health, now };
}

/** Good answers in a row, one a second, until the target counts as well. */
function goodAnswersUntilWell({ health, now }: { health: HealthState; now: number }): number {
  for (let good = 0; good < 100; good++) {
    if (!isSick(health, now)) return good;
    now += 1_000;
    health = observe(health, true, now);
  }
  return Infinity;
}

describe("the health of a target", () => {
  it("that nobody knows is good enough", () => {
    expect(isSick(UNKNOWN_HEALTH, NOON)).toBe(false);
  });

  it("is a share, whatever is observed when", () => {
    const answer = fc.record({ good: fc.boolean(), waitMs: fc.integer({ min: 0, max: 10_000_000 }) });
    fc.assert(
      fc.property(fc.array(answer, { maxLength: 200 }), (answers) => {
        let health = UNKNOWN_HEALTH;
        let now = NOON;
        for (const { good, waitMs } of answers) {
          now += waitMs;
          health = observe(health, good, now);
          expect(sickness(health, now)).toBeGreaterThanOrEqual(0);
          expect(sickness(health, now)).toBeLessThanOrEqual(1);
          expect(health.fails).toBeLessThanOrEqual(health.tries);
          expect(health.tries).toBeLessThanOrEqual(30);
        }
      }),
    );
  });

  it.each([0.1, 0.3, 0.5, 1])("that fails at %d is bad", (share) => {
    const { health, now } = failing(share, 100);
    expect(isSick(health, now)).toBe(true);
  });

  it("that was good for a hundred thousand calls is bad within three failures", () => {
    let health = UNKNOWN_HEALTH;
    for (let i = 0; i < 100_000; i++) health = observe(health, true, NOON + i * 400);
    const now = NOON + 100_000 * 400;
    expect(isSick(health, now)).toBe(false);
    for (let i = 0; i < 3; i++) health = observe(health, false, now + i * 400);
    expect(isSick(health, now + 1_200)).toBe(true);
  });

  it.each([
    { share: 1, atMost: 5 },
    { share: 0.5, atMost: 15 },
    { share: 0.13, atMost: 30 },
  ])(
    "that failed at $share is believed good after at most $atMost good answers, but not after one",
    ({ share, atMost }) => {
      const good = goodAnswersUntilWell(failing(share, 100));
      expect(good).toBeGreaterThan(1);
      expect(good).toBeLessThanOrEqual(atMost);
    },
  );

  it("that failed at all is believed good within a minute of probes, however little is known", () => {
    for (const calls of [1, 2, 3, 5, 10, 1_000]) {
      for (const share of [0, 0.05, 0.2, 0.5, 1]) {
        expect(goodAnswersUntilWell(failing(share, calls))).toBeLessThanOrEqual(40);
      }
    }
  });

  it("fades with time: an old failure weighs less", () => {
    const { health, now } = failing(0.3, 20);
    expect(sickness(health, now + 600_000)).toBeLessThan(sickness(health, now) / 3);
  });
});
