import { describe, expect, it } from "vitest";
import { callOf, closest, createEngine, type Engine, failures, sentBy } from "../fixtures/engine-harness.ts";

const MINUTE = 60_000;
const sliding = { counting: "sliding" } as const;

/** Somebody else spends the first key's account; ends with the returned function. */
function foreigner(engine: Engine, perSecond: number): () => void {
  let goesOn = true;
  const call = () => {
    if (!goesOn) return;
    const url = `https://sandbox.test/v2/api?${callOf().query}&apikey=${engine.keys[0]}`;
    void engine.sandbox.fetch(new Request(url));
    engine.clock.after(1_000 / perSecond, call);
  };
  call();
  return () => void (goesOn = false);
}

async function refusedShare(engine: Engine, ms: number): Promise<number> {
  const before = engine.upstream.stats().calls;
  await engine.offer({ perSecond: 4, ms });
  const { calls } = engine.upstream.stats();
  return (calls.refused - before.refused) / (calls.attempts - before.attempts);
}

describe("recalibration", () => {
  it("(2/sec) lowers the ceiling at once, with no burst after it", async () => {
    const engine = createEngine({ keys: [{ perSecond: 2 }], sandbox: sliding });
    await engine.burst(1, 500);
    await engine.offer({ perSecond: 5, ms: 2 * MINUTE });
    expect(engine.sandbox.counts().total.refused).toBe(1);
    expect(engine.ofType("limit_learned")).toMatchObject([{ limit: 2, before: 3 }]);
    expect(engine.upstream.stats().targets[0]).toMatchObject({ limit: 2, limitSource: "observed" });
    expect(engine.upstream.capacity()).toBe(2);
    const from = engine.ofType("limit_learned")[0]?.at ?? NaN;
    const after = engine.sent.filter(({ at }) => at > from);
    expect((after[0]?.at ?? 0) - from).toBeGreaterThanOrEqual(1_000);
    expect(closest({ ...engine, sent: after }, [1])).toBeGreaterThanOrEqual(537);
    await engine.close();
  });

  it("slots that were leased under the old ceiling are not used", async () => {
    const engine = createEngine({ keys: [{ perSecond: 1 }], sandbox: sliding });
    await engine.burst(12, 20_000);
    // Two or three were on their way before the first refusal came.
    expect(engine.sandbox.counts().total.refused).toBeLessThanOrEqual(1);
    expect(engine.ofType("limit_learned")).toHaveLength(1);
    await engine.close();
  });

  it("(5/sec) raises it", async () => {
    const engine = createEngine({ keys: [{ perSecond: 5 }], sandbox: sliding });
    const end = foreigner(engine, 4);
    await engine.offer({ perSecond: 4, ms: 20_000 });
    end();
    expect(engine.ofType("limit_learned")).toMatchObject([{ limit: 5, before: 3 }]);
    await engine.clock.advance(MINUTE);
    engine.sandbox.resetCounts();
    const from = engine.clock.now();
    await engine.offer({ perSecond: 8, ms: MINUTE });
    expect(sentBy(engine, from, from + MINUTE)[0]).toBeGreaterThan(0.97 * 60 * 4.65);
    expect(engine.sandbox.counts().total.refused).toBe(0);
    await engine.close();
  });

  it("a learnt ceiling is tried 5 % higher every 10 clean minutes, never above the configured one", async () => {
    const engine = createEngine({ keys: [{ perSecond: 2 }], sandbox: sliding, etherscan: { callsPerSec: 2.15 } });
    // Refused once by chance of phase: the upstream states 2.
    const end = foreigner(engine, 2);
    await engine.offer({ perSecond: 3, ms: 10_000 });
    end();
    engine.sandbox.setKey(engine.keys[0] ?? "", { perSecond: 10 });
    expect(engine.upstream.stats().targets[0]?.limit).toBe(2);
    const limits: number[] = [];
    for (let i = 0; i < 5; i++) {
      await engine.offer({ perSecond: 0.5, ms: 10 * MINUTE });
      limits.push(engine.upstream.stats().targets[0]?.limit ?? NaN);
    }
    expect(limits[0]).toBeCloseTo(2.1, 5);
    expect(limits.slice(1)).toEqual([2.15, 2.15, 2.15, 2.15]);
    await engine.close();
  });

  it("costs one refusal in ten minutes where the learnt ceiling is the true one", async () => {
    const engine = createEngine({ keys: [{ perSecond: 2 }], sandbox: sliding });
    await engine.offer({ perSecond: 1.7, ms: 45 * MINUTE });
    expect(engine.sandbox.counts().total.refused).toBeLessThanOrEqual(5);
    expect(engine.upstream.stats().targets[0]?.limit).toBeLessThanOrEqual(2.1);
    await engine.close();
  });
});

describe("foreign use", () => {
  it("is flagged, our share shrinks, refusals fall, and all is as before when it ends", async () => {
    const engine = createEngine({ keys: 1, sandbox: sliding });
    const end = foreigner(engine, 1);
    const share = await refusedShare(engine, 5 * MINUTE);
    // With an unchanged share a third of the calls is refused; this pool spends 1.4 calls/s instead of 2.8.
    expect(share).toBeLessThan(0.2);
    expect(engine.upstream.stats().targets[0]).toMatchObject({ foreignUse: true, limit: 3 });
    expect(engine.ofType("foreign_use")).toMatchObject([{ share: 0.7 }]);
    end();
    await engine.clock.advance(2_000);
    const from = engine.clock.now();
    expect(await refusedShare(engine, 2 * MINUTE)).toBe(0);
    expect(sentBy(engine, from + MINUTE, from + 2 * MINUTE)[0]).toBeGreaterThan(0.97 * 60 * 2.79);
    await engine.clock.advance(10 * MINUTE);
    expect(engine.upstream.stats().targets[0]?.foreignUse).toBe(false);
    await engine.close();
  });

  it("makes the key overflow where the others carry the load", async () => {
    const engine = createEngine({ keys: 4, sandbox: sliding });
    const end = foreigner(engine, 2.5);
    await engine.offer({ perSecond: 4, ms: MINUTE });
    const from = engine.clock.now();
    const outcomes = await engine.offer({ perSecond: 4, ms: 5 * MINUTE });
    end();
    expect(failures(outcomes)).toEqual([]);
    const [spent = 0, ...others] = sentBy(engine, from);
    expect(spent).toBeLessThan(0.25 * Math.min(...others));
    expect(engine.upstream.stats().targets.map(({ foreignUse }) => foreignUse)).toEqual([true, false, false, false]);
    await engine.close();
  });
});
