import { describe, expect, it } from "vitest";
import type { Priority } from "../../src/engine/call.ts";
import { callOf, createEngine, failures, type Outcome, quantile } from "../fixtures/engine-harness.ts";

const MINUTE = 60_000;
const took = (outcomes: readonly Outcome[]) => outcomes.map(({ tookMs }) => tookMs);

/** A signal that knows how many listen to it. */
function countedSignal(): { readonly controller: AbortController; listeners(): number } {
  const controller = new AbortController();
  const { signal } = controller;
  let listeners = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...input: Parameters<typeof add>) => (listeners++, add(...input));
  signal.removeEventListener = (...input: Parameters<typeof remove>) => (listeners--, remove(...input));
  return { controller, listeners: () => listeners };
}

describe("deadlines", () => {
  it("a waiting call leaves the queue after maxWaitMs and is never sent", async () => {
    const engine = createEngine({ keys: 1, etherscan: { maxWaitMs: 2_000 } });
    const outcomes = await engine.burst(10, 2_100);
    expect(failures(outcomes)).toEqual(Array<string>(4).fill("wait_too_long"));
    for (const { tookMs, error } of outcomes) if (error) expect(Math.round(tookMs)).toBe(2_001);
    expect(engine.upstream.stats()).toMatchObject({ queued: 0, slots: 0, inFlight: 0 });
    await engine.clock.advance(MINUTE);
    expect(engine.sent).toHaveLength(6);
    expect(engine.clock.pending()).toBe(0);
    await engine.close();
  });

  it("a replay has what is left of the time, not all of it anew", async () => {
    const engine = createEngine({ keys: [{ sickness: () => 1 }], etherscan: { maxWaitMs: 1_500, maxAttempts: 9 } });
    const [outcome] = await engine.burst(1, 10_000);
    expect(outcome?.error?.code).toBe("pool_exhausted");
    expect(outcome?.tookMs).toBeLessThan(1_500 + 5 * 120);
    await engine.close();
  });
});

describe("a client that leaves", () => {
  it("in the queue: its call is never sent and the next takes its slot", async () => {
    const engine = createEngine({ keys: 1 });
    const { controller, listeners } = countedSignal();
    const first = engine.send();
    const gone = engine.send(callOf(), { signal: controller.signal });
    const next = engine.send();
    await engine.clock.advance(100);
    controller.abort();
    expect((await gone).error?.code).toBe("client_gone");
    await engine.clock.advance(1_000);
    expect((await Promise.all([first, next])).map(({ result }) => result?.status)).toEqual([200, 200]);
    // The second call left at the instant that was the gone one's.
    expect(engine.sent.map(({ at }) => Math.round(at - (engine.sent[0]?.at ?? 0)))).toEqual([0, 358]);
    expect(listeners()).toBe(0);
    await engine.close();
  });

  it("its slot goes back even when nobody waits: the next call takes it at once", async () => {
    const engine = createEngine({ keys: 1 });
    const controllers = Array.from({ length: 4 }, () => new AbortController());
    const calls = controllers.map(({ signal }) => engine.send(callOf(), { signal }));
    await engine.clock.advance(50);
    for (const controller of controllers) controller.abort();
    await engine.clock.advance(350);
    const [late] = await engine.burst(1, 1_500);
    expect(late?.result?.attempts[0]?.waitedMs).toBeLessThan(358);
    expect(failures(await Promise.all(calls))).toEqual(Array<string>(4).fill("client_gone"));
    await engine.close();
  });

  it("in flight: the upstream request is aborted, the slot stays used, nothing leaks", async () => {
    const engine = createEngine({ keys: 1, sandbox: { counting: "sliding" } });
    const base = engine.clock.pending();
    const { controller, listeners } = countedSignal();
    const call = engine.send(callOf(), { signal: controller.signal });
    await engine.clock.advance(10);
    expect(engine.sent[0]?.signal.aborted).toBe(false);
    controller.abort();
    expect((await call).error?.code).toBe("client_gone");
    expect(engine.sent[0]?.signal.aborted).toBe(true);
    await engine.burst(3, 5_000);
    expect(engine.sandbox.counts().total.refused).toBe(0);
    expect(engine.upstream.stats()).toMatchObject({ queued: 0, slots: 0, inFlight: 0 });
    expect(engine.upstream.stats().targets[0]).toMatchObject({ failed: 0, failed5m: 0 });
    expect(engine.upstream.stats().calls.failed).toBe(0);
    expect(listeners()).toBe(0);
    expect(engine.clock.pending()).toBe(base);
    await engine.close();
  });

  it("before it was there: nothing is sent", async () => {
    const engine = createEngine({ keys: 1 });
    const outcome = engine.send(callOf(), { signal: AbortSignal.abort() });
    expect((await outcome).error?.code).toBe("client_gone");
    expect(engine.sent).toHaveLength(0);
    await engine.close();
  });

  it("many, at random, under load: the queue ends empty and no key is overrun", async () => {
    const engine = createEngine({ keys: 3, sandbox: { counting: "sliding" } });
    const options = (n: number) => {
      const controller = new AbortController();
      if (n % 3 === 0) engine.clock.after((n * 37) % 900, () => controller.abort());
      return { signal: controller.signal };
    };
    const outcomes = await engine.offer({ perSecond: 12, ms: MINUTE, options, drainMs: 60_000 });
    expect(failures(outcomes).filter((code) => code === "client_gone").length).toBeGreaterThan(100);
    expect(engine.sandbox.counts().total.refused).toBe(0);
    // Slots of those who left were not lost: the pool was as busy as it may be.
    expect(engine.sent.length).toBeGreaterThan(0.97 * 3 * 2.79 * 60);
    expect(engine.upstream.stats()).toMatchObject({ queued: 0, slots: 0, inFlight: 0 });
    expect(engine.clock.pending()).toBe(0);
    await engine.close();
  });
});

describe("priorities", () => {
  it("critical before interactive before batch, and batch is not starved", async () => {
    const engine = createEngine({ keys: 1, etherscan: { maxWaitMs: 120_000 } });
    const order: Priority[] = [];
    const submit = (priority: Priority, n: number) => {
      for (let i = 0; i < n; i++) void engine.send(callOf(), { priority }).then(() => order.push(priority));
    };
    submit("batch", 12);
    submit("interactive", 20);
    submit("critical", 5);
    await engine.clock.advance(30_000);
    expect(order).toHaveLength(37);
    // The first two may have left before the others came.
    const critical = order.map((priority, i) => (priority === "critical" ? i : 0));
    expect(Math.max(...critical)).toBeLessThanOrEqual(6);
    const whileBusy = order.slice(7, 27);
    const batch = whileBusy.filter((priority) => priority === "batch").length;
    expect(batch).toBeGreaterThanOrEqual(3);
    expect(batch).toBeLessThanOrEqual(5);
    await engine.close();
  });

  it("under a steady overload batch waits and interactive does not", async () => {
    const engine = createEngine({ keys: 3, etherscan: { maxWaitMs: 30_000 } });
    const priority = (n: number): Priority => (n % 2 === 0 ? "interactive" : "batch");
    const options = (n: number) => ({ priority: priority(n) });
    const outcomes = await engine.offer({ perSecond: 10, ms: MINUTE, options, drainMs: MINUTE });
    const interactive = outcomes.filter((_, n) => priority(n) === "interactive");
    const batch = outcomes.filter((_, n) => priority(n) === "batch");
    expect(failures(interactive)).toEqual([]);
    expect(quantile(took(interactive), 0.95)).toBeLessThan(1_000);
    expect(quantile(took(batch), 0.95)).toBeGreaterThan(5_000);
    expect(batch.filter(({ result }) => result !== undefined).length).toBeGreaterThan(0.25 * batch.length);
    await engine.close();
  });
});

describe("the queue's bound", () => {
  it("refuses beyond maxQueue, with the time that the backlog takes", async () => {
    const engine = createEngine({ keys: 2, etherscan: { maxQueue: 30, maxWaitMs: 60_000 } });
    const outcomes = engine.burst(50, 20_000);
    const refused = (await outcomes).filter(({ error }) => error?.code === "queue_full");
    // Two left at once.
    expect(refused).toHaveLength(18);
    expect(refused[0]?.error).toMatchObject({ status: 429, retryAfterMs: 5_000 });
    expect(refused[0]?.tookMs).toBe(0);
    expect(failures(await outcomes)).toHaveLength(18);
    await engine.close();
  });
});

describe("no call holds up another", () => {
  const chain = callOf({ chainid: "8453" });
  const p95 = (outcomes: readonly Outcome[]) => quantile(took(outcomes), 0.95);

  it("thirty calls that only a cooling key can serve do not delay calls for the others", async () => {
    const run = async (blocked: number) => {
      let down = true;
      const fault = () => (down ? ("reset" as const) : null);
      const keys = [{ paid: true, fault }, {}, {}];
      const engine = createEngine({ keys, etherscan: { maxWaitMs: 60_000, maxAttempts: 20 } });
      const stuck = Array.from({ length: blocked }, () => engine.send(chain));
      await engine.clock.advance(5_000);
      const others = await engine.offer({ perSecond: 4, ms: 20_000, drainMs: 2_000 });
      expect(failures(others)).toEqual([]);
      expect(engine.upstream.stats().queued).toBeGreaterThanOrEqual(blocked * 0.5);
      down = false;
      await engine.clock.advance(70_000);
      await Promise.all(stuck);
      await engine.close();
      return p95(others);
    };
    expect(await run(30)).toBeLessThan((await run(0)) + 100);
  });

  it("replays that only sick keys are left for do not either", async () => {
    const run = async (replays: boolean) => {
      const engine = createEngine({ keys: [{ sickness: () => 1 }, { sickness: () => 1 }, {}, {}] });
      // The two well keys refuse the chain, so that its calls have the sick ones alone.
      const isReplay = (n: number) => replays && n % 3 === 0;
      const load = { perSecond: replays ? 6 : 4, ms: 2 * MINUTE };
      const all = await engine.offer({ ...load, call: (n) => (isReplay(n) ? chain : callOf()) });
      const outcomes = all.filter((_, n) => !isReplay(n));
      expect(failures(outcomes)).toEqual([]);
      await engine.close();
      return p95(outcomes);
    };
    expect(await run(true)).toBeLessThan((await run(false)) + 300);
  });
});

describe("close", () => {
  it("refuses waiting calls, gives slots ahead back and delivers what is unsettled", async () => {
    const engine = createEngine({ keys: 1, pools: 2 });
    const waiting = Array.from({ length: 4 }, () => engine.send());
    await engine.clock.advance(120);
    await engine.sluices[0]?.close();
    const outcomes = await Promise.all(waiting);
    expect(failures(outcomes)).toEqual(["closed", "closed", "closed"]);
    expect((await engine.send()).error?.code).toBe("closed");
    // The other gateway gets the very next slot, and knows of the good answer.
    const other = engine.send(callOf(), {}, 1);
    await engine.clock.advance(1_000);
    expect((await other).result?.attempts[0]?.waitedMs).toBeLessThanOrEqual(358 - 120);
    expect(engine.upstreams[1]?.stats().targets[0]).toMatchObject({ ok: 2, today: 2 });
    expect(engine.clock.pending()).toBe(0);
    await engine.close();
  });

  it("what was in flight is delivered when it ends", async () => {
    const engine = createEngine({ keys: [{ perDay: 0 }], pools: 2 });
    const call = engine.send();
    await engine.clock.advance(10);
    await engine.sluices[0]?.close();
    await engine.clock.advance(1_000);
    expect((await call).error).toBeDefined();
    const other = engine.send(callOf(), {}, 1);
    await engine.clock.advance(3_000);
    expect((await other).error?.code).toBe("pool_exhausted");
    expect(engine.sent).toHaveLength(1);
    await engine.close();
  });
});
