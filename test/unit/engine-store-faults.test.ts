import { describe, expect, it } from "vitest";
import type { ExchangeReply, ExchangeRequest, Ledger } from "../../src/ports/ledger.ts";
import { createEngine, type Engine, type EngineOptions, failures, sentBy } from "../fixtures/engine-harness.ts";
import { seededRandom } from "../fixtures/seeded-random.ts";

const MINUTE = 60_000;
const RATE = 2.79;

/** What the store does with one exchange: its delay there and back, or what it answers instead. */
interface Turn {
  readonly thereMs?: number;
  readonly backMs?: number;
  readonly reject?: boolean;
  /** Made of the true reply. */
  readonly answer?: (reply: ExchangeReply) => unknown;
}

interface Store {
  turn: (request: ExchangeRequest) => Turn;
  readonly requests: ExchangeRequest[];
  readonly wrap: NonNullable<EngineOptions["ledger"]>;
}

/** The ledger in memory, 10 ms away unless its turn says otherwise. */
function oddStore(): Store {
  const store: Store = {
    turn: () => ({}),
    requests: [],
    wrap: (inner, clock): Ledger => ({
      exchange(pool, request) {
        store.requests.push(request);
        const { thereMs = 5, backMs = 5, reject, answer } = store.turn(request);
        return new Promise((resolve, refuse) => {
          clock.after(thereMs, () => {
            if (reject === true) {
              refuse(new Error("store is out"));
              return;
            }
            const reply = inner.exchange(pool, request) as ExchangeReply;
            if (backMs === Infinity) return;
            // A store of another make is not bound by our types.
            clock.after(backMs, () => resolve((answer === undefined ? reply : answer(reply)) as ExchangeReply));
          });
        });
      },
    }),
  };
  return store;
}

async function closeRemote(engine: Engine): Promise<void> {
  await engine.clock.advance(20_000);
  const closed = engine.close();
  await engine.clock.advance(3_000);
  await closed;
  expect(engine.clock.pending()).toBe(0);
}

const sentIn = (engine: Engine, from: number, to: number): number =>
  sentBy(engine, from, to).reduce((sum, n) => sum + n, 0);

describe("one failed exchange is no outage", () => {
  it.each([
    ["slow", { backMs: 400 }],
    ["lost", { backMs: Infinity }],
    ["rejected", { reject: true }],
    ["garbled", { answer: () => null }],
  ] satisfies [string, Turn][])("%s: it is repeated by the same id, and nothing is settled twice", async (_, odd) => {
    const store = oddStore();
    const engine = createEngine({ keys: 1, ledger: store.wrap });
    await engine.burst(2, 10_000);
    const before = store.requests.length;
    store.turn = () => (store.requests.length === before + 1 ? odd : {});
    const [outcome] = await engine.burst(1, 20_000);
    expect(outcome?.error).toBeUndefined();
    const [first, second] = store.requests.slice(before);
    expect(second).toMatchObject({ id: first?.id, settle: first?.settle, want: first?.want });
    expect(engine.ofType("ledger_down")).toEqual([]);
    await closeRemote(engine);
    expect(engine.upstream.stats().targets[0]).toMatchObject({ ok: 3, failed: 0 });
  });

  it("an answer that comes late is taken while the repetition is under way, and the other's slots go back", async () => {
    const store = oddStore();
    const engine = createEngine({ keys: 1, ledger: store.wrap });
    await engine.burst(1, 10_000);
    const before = store.requests.length;
    store.turn = () => {
      const number = store.requests.length - before;
      return number === 1 ? { backMs: 200 } : number === 2 ? { thereMs: 150, backMs: 150 } : {};
    };
    await engine.burst(3, 20_000);
    expect(store.requests.slice(before, before + 2).map(({ id }) => id)).toEqual(
      Array<string>(2).fill(store.requests[before]?.id ?? ""),
    );
    const unused = store.requests.flatMap(({ settle }) => settle).filter(({ outcome }) => outcome === "unused");
    expect(unused.length).toBeGreaterThanOrEqual(1);
    expect(engine.ofType("ledger_down")).toEqual([]);
    await closeRemote(engine);
    // Each lease is either a call or given back.
    expect(engine.upstream.stats().targets[0]).toMatchObject({ ok: 4, today: 4 });
  });
});

it.each([1, 2, 3])("latencies between 1 and 250 ms are no outage, seed %i", async (seed) => {
  const random = seededRandom(seed);
  const store = oddStore();
  store.turn = () => ({ thereMs: 0.5 + 124.5 * random(), backMs: 0.5 + 124.5 * random() });
  const engine = createEngine({ keys: 3, pools: 5, seed, ledger: store.wrap, sandbox: { counting: "sliding" } });
  await engine.offer({ perSecond: 6, ms: 3 * MINUTE });
  expect(engine.ofType("ledger_down")).toEqual([]);
  expect(engine.sandbox.counts().total.refused).toBe(0);
  await closeRemote(engine);
});

const GARBAGE: readonly [string, (reply: ExchangeReply) => unknown][] = [
  ["null", () => null],
  ["an empty object", () => ({})],
  ["text", () => "<html>502 Bad Gateway</html>"],
  ["a time that is text", (reply) => ({ ...reply, now: String(reply.now) })],
  ["a time that is no number", (reply) => ({ ...reply, now: Number.NaN })],
  ["no list of leases", (reply) => ({ ...reply, leases: { length: 1 } })],
  ["leases without an instant", (reply) => ({ ...reply, leases: [{ want: 0, bucket: "b", target: "t" }] })],
  ["empty leases", (reply) => ({ ...reply, leases: [null] })],
  ["too few instants to ask again", (reply) => ({ ...reply, retryAt: [...reply.retryAt, 0] })],
  ["no changes", (reply) => ({ ...reply, changes: null })],
  ["rows that are null", (reply) => ({ ...reply, changes: { buckets: { b: null }, targets: {} } })],
  ["rows of another make", (reply) => ({ ...reply, changes: { buckets: {}, targets: { t: { version: 1 } } } })],
];

describe("a store that answers garbage", () => {
  it.each(GARBAGE)("%s: is out, and back at the full rate within seconds", async (_, answer) => {
    const store = oddStore();
    const engine = createEngine({ keys: 1, ledger: store.wrap, sandbox: { counting: "sliding" } });
    const start = engine.clock.now();
    engine.clock.after(20_000, () => void (store.turn = () => ({ answer })));
    engine.clock.after(50_000, () => void (store.turn = () => ({})));
    const outcomes = await engine.offer({ perSecond: 4, ms: 80_000 });
    expect(new Set(failures(outcomes))).toEqual(new Set(["wait_too_long"]));
    expect(sentIn(engine, start + 25_000, start + 50_000) / 25).toBeGreaterThan(0.4 * RATE);
    expect(sentIn(engine, start + 25_000, start + 50_000) / 25).toBeLessThan(0.55 * RATE);
    expect(sentIn(engine, start + 58_000, start + 80_000) / 22).toBeGreaterThan(0.95 * RATE);
    expect(engine.ofType("ledger_down").map(({ detail }) => detail)).toEqual([
      "the ledger's reply has not the form of one",
    ]);
    expect(engine.ofType("ledger_up")).toHaveLength(1);
    await closeRemote(engine);
  });
});

it.each([
  ["rejects", { reject: true }, "store is out"],
  ["hangs for 3 s and answers late", { backMs: 3_000 }, "no answer in 1000 ms"],
] satisfies [string, Turn, string][])("a store that %s is told of once, with its cause", async (_, turn, detail) => {
  const store = oddStore();
  const engine = createEngine({ keys: 3, ledger: store.wrap });
  const start = engine.clock.now();
  engine.clock.after(20_000, () => void (store.turn = () => turn));
  engine.clock.after(50_000, () => void (store.turn = () => ({})));
  await engine.offer({ perSecond: 12, ms: 80_000 });
  expect(engine.ofType("ledger_down").map((event) => event.detail)).toEqual([detail]);
  expect(engine.ofType("ledger_up")).toHaveLength(1);
  expect(sentIn(engine, start + 60_000, start + 80_000) / 20).toBeGreaterThan(0.95 * 3 * RATE);
  await closeRemote(engine);
});

it("twenty isolates that lose the store at the same time do not call at the same time", async () => {
  const store = oddStore();
  const engine = createEngine({ keys: 1, pools: 20, ledger: store.wrap, sandbox: { counting: "sliding" } });
  const start = engine.clock.now();
  engine.clock.after(MINUTE, () => void (store.turn = () => ({ reject: true })));
  await engine.offer({ perSecond: 3.6, ms: 3 * MINUTE });
  const inSecond = (second: number): number =>
    sentIn(engine, start + MINUTE + 1_000 * second, start + MINUTE + 1_000 * (second + 1));
  // What had been leased leaves in the first seconds beside what the isolates grant themselves.
  const first = [2, 3, 4, 5, 6].map(inSecond);
  expect(Math.max(...first)).toBeLessThanOrEqual(5);
  const during = sentIn(engine, start + MINUTE + 2_000, start + 3 * MINUTE) / 118;
  expect(during).toBeLessThan(0.55 * RATE);
  await closeRemote(engine);
});
