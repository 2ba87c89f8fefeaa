import { describe, expect, it } from "vitest";
import type { Strategy } from "../../src/engine/strategy.ts";
import { createEngine, failures, NOON, quantile, sentBy } from "../fixtures/engine-harness.ts";

const MINUTE = 60_000;
const sick = (...shares: number[]) => shares.map((share) => ({ sickness: () => share }));
const took = (outcomes: readonly { tookMs: number }[]) => outcomes.map(({ tookMs }) => tookMs);

describe("balance", () => {
  it("spreads the calls evenly over keys that are equally well", async () => {
    const engine = createEngine({ keys: 5 });
    await engine.offer({ perSecond: 5, ms: 5 * MINUTE });
    const sent = sentBy(engine);
    expect(Math.max(...sent) - Math.min(...sent)).toBeLessThanOrEqual(2);
    await engine.close();
  });

  it("goes to the least used of 5 minutes first, so that a newcomer catches up", async () => {
    const engine = createEngine({ keys: 3 });
    const [third] = engine.upstream.stats().targets.slice(2);
    await engine.upstream.order(third?.id ?? "", "disable");
    await engine.offer({ perSecond: 1, ms: 2 * MINUTE, drainMs: 1_000 });
    expect(sentBy(engine)[2]).toBe(0);
    await engine.upstream.order(third?.id ?? "", "enable");
    const from = engine.clock.now();
    await engine.offer({ perSecond: 1, ms: 20_000, drainMs: 1_000, random: false });
    expect(sentBy(engine, from)).toEqual([0, 0, 20]);
    await engine.close();
  });

  it.each([1, 2, 3])("uses sick keys for probes alone while the well ones carry the demand, seed %i", async (seed) => {
    const engine = createEngine({ keys: sick(0, 0, 0, 0, 0, 0, 0.5, 0.5, 1), seed });
    const outcomes = await engine.offer({ perSecond: 8, ms: 6 * MINUTE });
    expect(failures(outcomes)).toEqual([]);
    expect(quantile(took(outcomes), 0.95)).toBeLessThan(400);
    const [, , , , , , half1 = 0, half2 = 0, dead = 0] = sentBy(engine, NOON + MINUTE, NOON + 6 * MINUTE);
    // Two probes a minute that fail, and the few that follow upon a good one.
    expect(half1 + half2).toBeLessThanOrEqual(2 * 5 * 6);
    expect(dead).toBeLessThanOrEqual(5 * 2.2);
    await engine.close();
  });

  it("waits for a well key rather than take a sick one, but no longer than 1.5 s", async () => {
    const engine = createEngine({ keys: sick(0, 0, 1) });
    await engine.offer({ perSecond: 1, ms: MINUTE });
    const probes = sentBy(engine)[2] ?? 0;
    // Two well keys start ten calls within 1.5 s.
    const fitting = await engine.burst(9, 10_000);
    expect(failures(fitting)).toEqual([]);
    expect((sentBy(engine)[2] ?? 0) - probes).toBeLessThanOrEqual(1);
    const firsts = fitting.map(({ result }) => result?.attempts[0]?.waitedMs ?? NaN);
    expect(Math.max(...firsts)).toBeGreaterThan(1_000);
    expect(Math.max(...firsts)).toBeLessThanOrEqual(1_500);
    const from = engine.clock.now();
    await engine.burst(14, 10_000);
    expect(sentBy(engine, from)[2]).toBeGreaterThan(1);
    await engine.close();
  });

  it.each([1, 2, 3])("overflows to the least sick at once when the well keys are too few, seed %i", async (seed) => {
    const engine = createEngine({ keys: sick(0, 0, 0.13, 0.15, 0.25, 0.35, 0.5, 0.6, 1), seed });
    const outcomes = await engine.offer({ perSecond: 8, ms: 6 * MINUTE });
    expect(failures(outcomes)).toEqual([]);
    expect(quantile(took(outcomes), 0.95)).toBeLessThan(1_000);
    const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0, i = 0] = sentBy(engine, NOON + MINUTE);
    // The well are full, and of the others the sicker is used less.
    expect(Math.min(a, b)).toBeGreaterThan(0.88 * 5 * 60 * 2.79);
    expect(c + d).toBeGreaterThan(1.5 * (e + f));
    expect(e + f).toBeGreaterThan(1.5 * (g + h));
    expect(i).toBeLessThanOrEqual(0.25 * (e + f));
    await engine.close();
  });

  it("makes a key that begins to refuse overflow within seconds", async () => {
    let share = 0;
    const engine = createEngine({ keys: [{}, {}, {}, { sickness: () => share }] });
    await engine.offer({ perSecond: 4, ms: 2 * MINUTE, drainMs: 1_000 });
    share = 0.3;
    const from = engine.clock.now();
    await engine.offer({ perSecond: 4, ms: 2 * MINUTE, drainMs: 1_000 });
    expect(sentBy(engine, from, from + 30_000)[3]).toBeLessThan(20);
    expect(sentBy(engine, from + 30_000)[3]).toBeLessThan(15);
    await engine.close();
  });
});

describe("recovery", () => {
  it.each([
    [1, 1],
    [0.5, 2],
    [0.25, 3],
    [1, 4],
  ])(
    "a key that was refused to a share of %f is in regular use a minute after it got well, seed %i",
    async (was, seed) => {
      let share = was;
      const engine = createEngine({ keys: [{}, {}, { sickness: () => share }], seed });
      await engine.offer({ perSecond: 2, ms: 3 * MINUTE, drainMs: 0 });
      share = 0;
      const from = engine.clock.now();
      await engine.offer({ perSecond: 2, ms: 2 * MINUTE, drainMs: 1_000 });
      const [first = 0, second = 0, third = 0] = sentBy(engine, from + MINUTE);
      expect(third).toBeGreaterThanOrEqual(Math.max(first, second));
      expect(sentBy(engine, from, from + MINUTE)[2]).toBeGreaterThan(15);
      await engine.close();
    },
  );

  it("a key that stays sick costs two calls a minute", async () => {
    const engine = createEngine({ keys: sick(0, 0, 1) });
    const outcomes = await engine.offer({ perSecond: 2, ms: 20 * MINUTE });
    expect(failures(outcomes)).toEqual([]);
    const probes = sentBy(engine)[2] ?? 0;
    expect(probes).toBeGreaterThanOrEqual(30);
    expect(probes).toBeLessThanOrEqual(45);
    await engine.close();
  });
});

describe("strategies", () => {
  it("round_robin takes every key in turn, the sick too", async () => {
    const engine = createEngine({ keys: sick(0, 0, 0.5), etherscan: { strategy: "round_robin" } });
    const outcomes = await engine.offer({ perSecond: 1, ms: 3 * MINUTE });
    expect(failures(outcomes)).toEqual([]);
    const [first = 0, second = 0, third = 0] = sentBy(engine);
    expect(Math.min(first, second, third)).toBeGreaterThan(0.8 * Math.max(first, second, third));
    await engine.close();
  });

  it("priority fills the first key and overflows to the next", async () => {
    const engine = createEngine({ keys: 3, etherscan: { strategy: "priority" } });
    await engine.offer({ perSecond: 2, ms: MINUTE, random: false, drainMs: 1_000 });
    expect(sentBy(engine)).toEqual([120, 0, 0]);
    const from = engine.clock.now();
    await engine.offer({ perSecond: 4, ms: MINUTE, random: false, drainMs: 1_000 });
    const [first = 0, second = 0, third = 0] = sentBy(engine, from);
    expect(first).toBeGreaterThan(0.7 * 2.79 * 60);
    expect(second).toBeGreaterThan(40);
    expect(third).toBe(0);
    await engine.close();
  });

  it("a strategy of one's own decides by rank and by penalty", async () => {
    const last: Strategy = {
      name: "last",
      penaltyMs: (target) => (target.position === 1 ? 10_000 : 0),
      rank: (target) => -target.position,
    };
    const engine = createEngine({ keys: 3, etherscan: { strategy: last } });
    await engine.offer({ perSecond: 2, ms: MINUTE, random: false });
    expect(sentBy(engine)).toEqual([0, 0, 120]);
    expect(engine.upstream.stats().strategy).toBe("last");
    await engine.close();
  });
});
