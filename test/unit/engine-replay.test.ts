import { describe, expect, it } from "vitest";
import { callOf, createEngine, failures, MIDNIGHT, type Outcome, sentBy } from "../fixtures/engine-harness.ts";

const priority = { strategy: "priority" } as const;
const sick = (n: number) => Array.from({ length: n }, () => ({ sickness: () => 1 }));
const faulty = (n: number, fault: "reset" | "5xx" | "html" | "truncated" | "empty" | "timeout" = "reset") =>
  Array.from({ length: n }, () => ({ fault: () => fault }));
const triesOf = ({ result, error }: Outcome) =>
  result?.attempts ?? (error?.facts["attempts"] as NonNullable<Outcome["result"]>["attempts"]);
const textOf = ({ result }: Outcome) => new TextDecoder().decode(result?.body);

async function once(engine: ReturnType<typeof createEngine>, call = callOf(), ms = 60_000): Promise<Outcome> {
  const outcome = engine.send(call);
  await engine.clock.advance(ms);
  return outcome;
}

describe("replay", () => {
  it("a quota refusal uses up no attempt while an untried key is left", async () => {
    const engine = createEngine({ keys: [...sick(6), {}], etherscan: { ...priority, maxAttempts: 1 } });
    const outcome = await once(engine);
    expect(outcome.result?.status).toBe(200);
    expect(triesOf(outcome)?.map((attempt) => attempt.class)).toEqual([
      ...Array<string>(6).fill("rate_limited_second"),
      "ok",
    ]);
    expect(sentBy(engine)).toEqual([1, 1, 1, 1, 1, 1, 1]);
    await engine.close();
  });

  it("when every key has refused, maxAttempts bounds the rest and one typed error says for how long", async () => {
    const engine = createEngine({ keys: sick(4), etherscan: { ...priority, maxAttempts: 2 } });
    const outcome = await once(engine);
    expect(outcome.error).toMatchObject({ code: "pool_exhausted", status: 503 });
    expect(outcome.error?.facts["class"]).toBe("rate_limited_second");
    expect(triesOf(outcome)).toHaveLength(5);
    expect(new Set(engine.sent.slice(0, 4).map(({ position }) => position)).size).toBe(4);
    await engine.close();
  });

  it.each(["reset", "5xx", "html", "truncated", "empty"] as const)(
    "%s uses up maxAttempts, on distinct keys",
    async (fault) => {
      const engine = createEngine({ keys: faulty(5, fault), etherscan: priority });
      const outcome = await once(engine);
      expect(outcome.error).toMatchObject({ code: "upstream_failed", status: 502 });
      expect(triesOf(outcome)).toHaveLength(3);
      expect(sentBy(engine)).toEqual([1, 1, 1, 0, 0]);
      await engine.close();
    },
  );

  it("a key that does not answer in time is left for another", async () => {
    const keys = [...faulty(1, "timeout"), {}];
    const engine = createEngine({ keys, etherscan: { ...priority, timeoutMs: 2_000 } });
    const outcome = await once(engine);
    expect(triesOf(outcome)).toMatchObject([{ class: "network", reason: "timeout", status: null }, { class: "ok" }]);
    expect(outcome.tookMs).toBeLessThan(2_300);
    expect(engine.sent[0]?.signal.aborted).toBe(true);
    await engine.close();
  });

  it("the caller's own mistake goes back at once, after one call, and no key is blamed", async () => {
    const engine = createEngine({ keys: 3 });
    const outcome = await once(engine, callOf({ address: "nonsense" }));
    expect(textOf(outcome)).toContain("Invalid address format");
    expect(outcome.result?.verdict.class).toBe("caller_fault");
    expect(engine.sent).toHaveLength(1);
    const { targets } = engine.upstream.stats();
    expect(targets.map(({ failed5m, failed }) => failed5m + failed)).toEqual([0, 0, 0]);
    await engine.close();
  });

  it("an empty result is an answer", async () => {
    const engine = createEngine({ keys: 3 });
    const outcome = await once(engine, callOf({ action: "txlist", address: `0x${"0".repeat(40)}` }));
    expect(textOf(outcome)).toContain("No transactions found");
    expect(outcome.result?.verdict.class).toBe("ok");
    expect(engine.sent).toHaveLength(1);
    await engine.close();
  });
});

describe("a key whose plan does not cover a chain", () => {
  const base = callOf({ chainid: "8453" });

  it("is left out for that chain alone, and not blamed", async () => {
    const engine = createEngine({ keys: [{}, { paid: true }], etherscan: priority });
    expect((await once(engine, base, 1_000)).result?.verdict.class).toBe("ok");
    expect(sentBy(engine)).toEqual([1, 1]);
    expect((await once(engine, base, 1_000)).result?.verdict.class).toBe("ok");
    expect(sentBy(engine)).toEqual([1, 2]);
    expect((await once(engine, callOf(), 1_000)).result?.verdict.class).toBe("ok");
    expect(sentBy(engine)).toEqual([2, 2]);
    expect(engine.upstream.stats().targets[0]).toMatchObject({ state: "ready", failed5m: 0 });
    await engine.close();
  });

  it("is asked again after a quarter of an hour", async () => {
    const engine = createEngine({ keys: [{}, { paid: true }], etherscan: priority });
    await once(engine, base, 16 * 60_000);
    await once(engine, base, 1_000);
    expect(sentBy(engine)).toEqual([2, 2]);
    await engine.close();
  });

  it("when no key covers it the upstream says so itself, and later calls get a clear error without a call", async () => {
    const engine = createEngine({ keys: 3 });
    const first = await once(engine, base, 5_000);
    expect(textOf(first)).toContain("not supported for this chain");
    expect(sentBy(engine)).toEqual([1, 1, 1]);
    const second = await once(engine, base, 10);
    expect(second.error).toMatchObject({ code: "pool_exhausted" });
    expect(second.error?.message).toContain("chain:8453");
    expect(second.error?.retryAfterMs).toBeGreaterThan(14 * 60_000);
    expect(engine.sent).toHaveLength(3);
    expect((await once(engine)).result?.verdict.class).toBe("ok");
    await engine.close();
  });
});

describe("a pool that is out as a whole", () => {
  it("all parked: one error, at once, with the time until the first is back after midnight UTC", async () => {
    const engine = createEngine({ keys: [{ perDay: 0 }, { perDay: 0 }, { perDay: 0 }] });
    const first = await once(engine, callOf(), 5_000);
    expect(first.error?.code).toBe("pool_exhausted");
    expect(engine.sent).toHaveLength(3);
    const [second] = await engine.burst(1, 1);
    const until = engine.clock.now() + (second?.error?.retryAfterMs ?? NaN) - MIDNIGHT;
    expect(second?.error).toMatchObject({ code: "pool_exhausted", status: 503 });
    expect(until).toBeGreaterThanOrEqual(5_000);
    expect(until).toBeLessThanOrEqual(60_000);
    expect(engine.sent).toHaveLength(3);
    await engine.close();
  });

  it("all disabled: one error that says so; waiting does not help", async () => {
    const engine = createEngine({ keys: [{ invalid: true }, { invalid: true }] });
    await once(engine, callOf(), 5_000);
    const [outcome] = await engine.burst(1, 1);
    expect(outcome?.error).toMatchObject({ code: "pool_exhausted", retryAfterMs: undefined });
    expect(outcome?.error?.message).toContain("disabled");
    expect(engine.ofType("target_disabled")).toHaveLength(2);
    expect(engine.sent).toHaveLength(2);
    await engine.close();
  });

  it("all cooling for longer than a call may wait: one error, at once", async () => {
    const engine = createEngine({ keys: faulty(2), etherscan: { maxWaitMs: 5_000, maxAttempts: 2 } });
    for (let i = 0; i < 7; i++) await once(engine, callOf(), 20_000);
    await once(engine, callOf(), 1_000);
    const from = engine.sent.length;
    const [outcome] = await engine.burst(1, 1);
    expect(outcome?.error).toMatchObject({ code: "pool_exhausted" });
    expect(outcome?.error?.retryAfterMs).toBeGreaterThan(5_000);
    expect(outcome?.error?.retryAfterMs).toBeLessThanOrEqual(30_000);
    expect(engine.sent).toHaveLength(from);
    await engine.close();
  });

  it("all merely busy: the call waits out its time", async () => {
    const engine = createEngine({ keys: 1, etherscan: { maxWaitMs: 500 } });
    const outcomes = await engine.burst(6, 3_000);
    expect(failures(outcomes)).toEqual(Array<string>(4).fill("wait_too_long"));
    for (const { error, tookMs } of outcomes) if (error !== undefined) expect(Math.abs(tookMs - 501)).toBeLessThan(2);
    expect(outcomes.at(-1)?.error?.retryAfterMs).toBeGreaterThan(0);
    await engine.close();
  });

  it("hears from the ledger that an operator has put its keys back, though it had nothing to tell", async () => {
    const engine = createEngine({ keys: 1, pools: 2 });
    const [target] = engine.upstream.stats().targets;
    await engine.upstream.order(target?.id ?? "", "disable");
    const out = engine.send(callOf(), {}, 1);
    await engine.clock.advance(2_000);
    expect((await out).error?.code).toBe("pool_exhausted");
    await engine.upstream.order(target?.id ?? "", "enable");
    const back = engine.send(callOf(), {}, 1);
    await engine.clock.advance(2_000);
    expect((await back).result?.status).toBe(200);
    await engine.close();
  });
});

describe("keys that come back", () => {
  it("the parked return one by one, 5 to 60 s after midnight UTC", async () => {
    const engine = createEngine({ keys: 6, start: MIDNIGHT - 60_000 });
    const setDay = (perDay: number) => engine.keys.forEach((key) => engine.sandbox.setKey(key, { perDay }));
    setDay(0);
    await once(engine, callOf(), 50_000);
    setDay(100_000);
    await engine.offer({ perSecond: 10, ms: 90_000 });
    const returns = engine.keys.map((_, i) => {
      const first = engine.sent.find(({ at, position }) => at > MIDNIGHT - 10_000 && position === i + 1);
      return (first?.at ?? NaN) - MIDNIGHT;
    });
    expect(Math.min(...returns)).toBeGreaterThanOrEqual(5_000);
    expect(Math.max(...returns)).toBeLessThanOrEqual(61_000);
    expect(Math.max(...returns) - Math.min(...returns)).toBeGreaterThan(20_000);
    await engine.close();
  });

  it("a network fault backs off, doubling to 30 s; the key returns by one call, then at half the rate for 2 s", async () => {
    let down = true;
    const keys = [{ fault: () => (down ? ("reset" as const) : null) }];
    const engine = createEngine({ keys, etherscan: { maxWaitMs: 60_000 } });
    for (let i = 0; i < 300; i++) {
      void engine.send();
      await engine.clock.advance(500);
    }
    const gaps = gapsOf(engine.sent.map(({ at }) => at));
    const least = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000];
    for (const [i, ms] of least.entries()) {
      expect(gaps[i]).toBeGreaterThanOrEqual(ms);
      expect(gaps[i]).toBeLessThan(Math.min(1.25 * ms, 30_000) + 500);
    }
    down = false;
    const before = engine.sent.length;
    await engine.burst(20, 60_000);
    const back = gapsOf(engine.sent.slice(before).map(({ at }) => at)).slice(0, 8);
    expect(back.slice(0, 2).map(Math.round)).toEqual([717, 717]);
    expect(back.slice(4).map(Math.round)).toEqual([358, 358, 358, 358]);
    await engine.close();
  });
});

function gapsOf(instants: readonly number[]): number[] {
  return instants.slice(1).map((at, i) => at - (instants[i] ?? NaN));
}
