import { describe, expect, it } from "vitest";
import {
  callOf,
  closest,
  createEngine,
  failures,
  GAP_MS,
  MIDNIGHT,
  quantile,
  sentBy,
} from "../fixtures/engine-harness.ts";

describe("admission", () => {
  it.each([1, 2, 3])("at full load no key gets more than 3 calls in any second, seed %i", async (seed) => {
    const engine = createEngine({ keys: 9, seed, sandbox: { counting: "sliding" } });
    await engine.offer({ perSecond: 40, ms: 60_000 });
    const { accounts, total } = engine.sandbox.counts();
    for (const account of Object.values(accounts)) expect(account.maxSliding).toBeLessThanOrEqual(3);
    expect(total.refused).toBe(0);
    // 2.79 calls/s on each key: what safe spacing leaves of 3.
    expect(total.ok).toBeGreaterThan(0.98 * 9 * 2.79 * 60);
    for (let position = 1; position <= 9; position++) expect(closest(engine, [position])).toBeGreaterThan(GAP_MS);
    await engine.close();
  });

  it("calls that come at once are spaced, never sent as a burst", async () => {
    const engine = createEngine({ keys: 1, sandbox: { counting: "sliding" } });
    const outcomes = await engine.burst(20, 9_000);
    expect(failures(outcomes)).toEqual([]);
    expect(closest(engine, [1])).toBeGreaterThan(GAP_MS);
    expect(engine.sandbox.counts().total.refused).toBe(0);
    await engine.close();
  });

  it("three keys of one group are one bucket: one pace, counted once", async () => {
    const account = "shared";
    const engine = createEngine({
      keys: [{ account }, { account }, { account }, {}],
      etherscan: { groups: "1-3" },
      sandbox: { counting: "sliding" },
    });
    await engine.offer({ perSecond: 20, ms: 60_000 });
    expect(engine.sandbox.counts().accounts[account]?.maxSliding).toBeLessThanOrEqual(3);
    expect(engine.sandbox.counts().total.refused).toBe(0);
    expect(closest(engine, [1, 2, 3])).toBeGreaterThan(GAP_MS);
    expect(engine.upstream.capacity()).toBe(6);
    const [first = 0, second = 0, third = 0] = sentBy(engine);
    expect(Math.min(first, second, third)).toBeGreaterThan(0.9 * Math.max(first, second, third));
    await engine.close();
  });

  it("a refusal of one key of a group cools all of them for a second", async () => {
    const behaviour = { account: "shared", sickness: () => 1 };
    const engine = createEngine({ keys: [behaviour, behaviour, behaviour], etherscan: { groups: "1-3" } });
    await engine.burst(1, 10_000);
    const instants = engine.sent.map(({ at }) => at);
    expect(new Set(engine.sent.map(({ position }) => position)).size).toBe(3);
    for (const [i, at] of instants.slice(1).entries()) expect(at - (instants[i] ?? 0)).toBeGreaterThan(1_000);
    await engine.close();
  });

  it("an invalid key of a group is its own matter", async () => {
    const account = "shared";
    const keys = [{ account, invalid: true }, { account }, { account }];
    const engine = createEngine({ keys, etherscan: { groups: "1-3" } });
    const outcomes = await engine.offer({ perSecond: 1, ms: 60_000 });
    expect(failures(outcomes)).toEqual([]);
    expect(engine.ofType("target_disabled")).toMatchObject([{ reason: "key_invalid" }]);
    expect(sentBy(engine)[0]).toBe(1);
    expect(engine.upstream.capacity()).toBe(3);
    await engine.close();
  });

  it("takes a free key's slot at once", async () => {
    const engine = createEngine({ keys: 3 });
    const outcomes = await engine.offer({ perSecond: 2, ms: 60_000 });
    expect(
      quantile(
        outcomes.map(({ result }) => result?.attempts[0]?.waitedMs ?? NaN),
        0.95,
      ),
    ).toBe(0);
    await engine.close();
  });
});

describe("the daily cap", () => {
  it("stops a key at 95 %, goes on with the others, and starts anew at midnight UTC", async () => {
    const start = MIDNIGHT - 600_000;
    const engine = createEngine({
      keys: [{ perDay: 100 }, { perDay: 100 }, {}],
      start,
      etherscan: { dailyCap: 100, strategy: "priority" },
    });
    const evening = await engine.offer({ perSecond: 0.4, ms: 590_000, drainMs: 5_000 });
    expect(evening.length).toBeGreaterThan(200);
    expect(failures(evening)).toEqual([]);
    expect(sentBy(engine).slice(0, 2)).toEqual([95, 95]);
    expect(engine.sandbox.counts().total.refused).toBe(0);
    const [first] = engine.upstream.stats().targets;
    expect(first).toMatchObject({ state: "parked", why: "daily_stop", today: 95, dailyStop: 95 });
    await engine.clock.advance(MIDNIGHT - engine.clock.now());
    await engine.burst(1, 2_000);
    expect(sentBy(engine, MIDNIGHT)[0]).toBe(1);
    expect(engine.upstream.stats().targets[0]).toMatchObject({ state: "ready", today: 1 });
    await engine.close();
  });

  it("says until when a pool is out whose day is spent everywhere", async () => {
    const engine = createEngine({ keys: 1, start: MIDNIGHT - 3_600_000, etherscan: { dailyCap: 20 } });
    await engine.burst(19, 10_000);
    const [outcome] = await engine.burst(1, 10);
    expect(outcome?.error).toMatchObject({ code: "pool_exhausted", retryAfterMs: 3_590_000 });
    await engine.close();
  });

  it("a group's day is one: the upstream's refusal parks every key of it", async () => {
    const account = "shared";
    const keys = [{ account, perDay: 5 }, { account, perDay: 5 }, {}];
    const engine = createEngine({ keys, start: MIDNIGHT - 600_000, etherscan: { groups: "1,2" } });
    const outcomes = await engine.offer({ perSecond: 1, ms: 60_000, call: () => callOf() });
    expect(failures(outcomes)).toEqual([]);
    expect(engine.sandbox.counts().total.refused).toBe(1);
    const states = engine.upstream.stats().targets.map(({ state }) => state);
    expect(states).toEqual(["parked", "parked", "ready"]);
    expect(engine.ofType("bucket_cooled")).toHaveLength(1);
    await engine.close();
  });
});
