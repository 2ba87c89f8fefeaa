import { describe, expect, it } from "vitest";
import { createEngine, failures } from "../fixtures/engine-harness.ts";
import { seededRandom } from "../fixtures/seeded-random.ts";

const MINUTES_20 = 20 * 60_000;

describe("suspected groups", () => {
  it.each([
    ["sliding", 7, 2],
    ["fixed", 6, 2],
    ["fixed", 8, 5],
  ] as const)(
    "names the three of nine keys that share an account (%s windows, %i calls/s, seed %i)",
    async (counting, perSecond, seed) => {
      const shared = [2, 5, 7];
      const keys = Array.from({ length: 9 }, (_, i) => (shared.includes(i + 1) ? { account: "one" } : {}));
      const engine = createEngine({ keys, seed, sandbox: { counting } });
      const outcomes = await engine.offer({ perSecond, ms: MINUTES_20 });
      expect(failures(outcomes)).toEqual([]);
      const { targets, suspectedGroups } = engine.upstream.stats();
      const ids = targets.filter(({ position }) => shared.includes(position)).map(({ id }) => id);
      const told = engine.ofType("group_suspected");
      expect(told).toMatchObject([{ targets: ids, setting: "ETHERSCAN_KEY_GROUPS=2,5,7" }]);
      expect(told[0]?.evidence).toMatch(
        /before a refusal the others were used \d\.\d times, usually \d\.\d times \(\d+ refusals\)/,
      );
      expect(suspectedGroups).toMatchObject([{ targets: ids, setting: "ETHERSCAN_KEY_GROUPS=2,5,7" }]);
      await engine.close();
    },
  );

  it.each([
    [6, 1],
    [6, 2],
    [8, 3],
    [10, 5],
  ])("finds nothing among nine keys that are sick each for itself (%i calls/s, seed %i)", async (perSecond, seed) => {
    const random = seededRandom(seed);
    const keys = Array.from({ length: 9 }, () => {
      // Half of the time well, else refused to a share of up to 60 %; anew every five minutes.
      const shares = Array.from({ length: 5 }, () => (random() < 0.5 ? 0 : 0.6 * random()));
      return { sickness: (elapsedMs: number) => shares[Math.floor(elapsedMs / 300_000)] ?? 0 };
    });
    const engine = createEngine({ keys, seed });
    await engine.offer({ perSecond, ms: MINUTES_20 });
    expect(engine.sandbox.counts().total.refused).toBeGreaterThan(80);
    expect(engine.ofType("group_suspected")).toEqual([]);
    await engine.close();
  });

  it("finds nothing among keys that are declared as a group", async () => {
    const keys = Array.from({ length: 6 }, (_, i) => (i < 3 ? { account: "one" } : {}));
    const engine = createEngine({ keys, etherscan: { groups: "1-3" } });
    await engine.offer({ perSecond: 7, ms: MINUTES_20 / 2 });
    expect(engine.sandbox.counts().total.refused).toBe(0);
    expect(engine.ofType("group_suspected")).toEqual([]);
    await engine.close();
  });
});
