import { describe, expect, it } from "vitest";
import type { Lease, Settlement } from "../../src/ports/ledger.ts";
import { standing, suspect } from "../../src/ledger/coincidence.ts";
import type { Coincidence, Partner, Suspicion } from "../../src/ports/state.ts";
import { NOON, PureStore, settled, wanting } from "../fixtures/pure-store.ts";
import { seededRandom } from "../fixtures/seeded-random.ts";

/** Used `deviations` more often than is usual before refusals. */
const partner = (deviations: number): Partner => [1, 2, deviations * 5, 25];

function evidence(refused: number, deviations: Readonly<Record<string, number>>): Coincidence {
  const others = Object.entries(deviations).map(([other, by]) => [other, partner(by)] as const);
  return { calls: 400, refused, with: Object.fromEntries(others) };
}

const groupsOf = (coincidences: Record<string, Coincidence>): string[] =>
  suspect(coincidences, [], NOON).map(({ buckets }) => buckets.join(""));

describe("buckets are suspected to be one account", () => {
  it("when each is used far more often before refusals of the other", () => {
    const suspicions = suspect({ a: evidence(20, { b: 4 }), b: evidence(10, { a: 4 }) }, [], NOON);
    expect(suspicions).toEqual([expect.objectContaining({ buckets: ["a", "b"], since: NOON, refused: 30 })]);
    expect(suspicions[0]?.before).toBeGreaterThan(suspicions[0]?.usual ?? Infinity);
  });

  it.each([
    ["it may be chance", { a: evidence(20, { b: 3 }), b: evidence(20, { a: 3 }) }],
    ["only one of the two shows it", { a: evidence(20, { b: 9 }), b: evidence(20, { a: 2 }) }],
    ["one of them is hardly refused", { a: evidence(20, { b: 9 }), b: evidence(3, { a: 9 }) }],
    ["nothing is known of the other", { a: evidence(20, { b: 9 }) }],
    [
      "others that are well are used as often: it is load",
      { a: evidence(20, { b: 5, x: 3, y: 3 }), b: evidence(20, { a: 5, x: 3, y: 3 }), x: evidence(0, {}) },
    ],
  ])("but not when %s", (_why, coincidences) => {
    expect(groupsOf(coincidences)).toEqual([]);
  });

  it("as one group where pairs share a member, and a weaker member joins it", () => {
    const coincidences: Record<string, Coincidence> = {
      a: evidence(20, { d: 4, e: 1.5 }),
      d: evidence(20, { a: 4, c: 4, e: 1.5 }),
      b: evidence(20, { c: 4 }),
      c: evidence(20, { b: 4, d: 4, e: 1.5 }),
      e: evidence(20, { a: 1.5, c: 1.5, d: 1.5 }),
      x: evidence(20, { y: 5 }),
      y: evidence(20, { x: 5 }),
    };
    expect(groupsOf(coincidences).sort()).toEqual(["abcde", "xy"]);
  });

  it("which is told when it has stood unchanged for three minutes", () => {
    const coincidences = { a: evidence(20, { b: 4 }), b: evidence(20, { a: 4 }) };
    const first = suspect(coincidences, [], NOON);
    const later = suspect(coincidences, first, NOON + 179_000);
    expect(later[0]?.since).toBe(NOON);
    expect(standing(later, NOON + 179_999)).toEqual([]);
    expect(standing(later, NOON + 180_000)).toEqual(later);
    const other = { ...coincidences, c: evidence(20, { a: 5, b: 5 }), a: evidence(20, { b: 4, c: 5 }) };
    expect(suspect(other, later, NOON + 180_000)[0]).toMatchObject({ buckets: ["a", "b", "c"], since: NOON + 180_000 });
  });
});

interface World {
  readonly buckets: readonly string[];
  /** Which buckets are one account that takes three calls a second. */
  readonly account: readonly string[];
  /** Share of calls refused at random. */
  readonly noise?: number;
  /** Of three seconds each. */
  readonly spells?: number;
}

/** Lets random pairs of buckets be busy for some seconds each, against an upstream that counts an account as one. */
function traffic(
  { buckets, account, noise = 0, spells = 400 }: World,
  seed: number,
): { store: PureStore; seen: readonly Suspicion[] } {
  const random = seededRandom(seed);
  const store = new PureStore();
  let arrivals: number[] = [];
  let seen: readonly Suspicion[] = [];
  let now = NOON;
  let held: Lease[] = [];
  for (let spell = 0; spell < spells; spell++) {
    const busy = buckets.filter(() => random() < 0.4);
    for (let step = 0; step < 30; step++) {
      now += 100;
      const settle: Settlement[] = [];
      for (const lease of held.filter(({ at }) => at <= now)) {
        const isShared = account.includes(lease.bucket);
        if (isShared) arrivals = [...arrivals.slice(-20), lease.at];
        const load = isShared ? arrivals.filter((at) => at > lease.at - 1_000 && at <= lease.at).length : 0;
        const isRefused = load > 3 || random() < noise;
        settle.push(settled(lease, isRefused ? "refused" : "ok", isRefused ? { observedLimit: 3 } : {}));
      }
      held = held.filter(({ at }) => at > now);
      const want = busy.map((bucket) => wanting(1, 200, { bucket, target: bucket }));
      const reply = store.run(now, { settle, want });
      held.push(...reply.leases);
      seen = reply.suspicions;
    }
  }
  return { store, seen };
}

describe("from traffic", () => {
  it.each([1, 2, 3])("finds the two keys of one account among five, seed %i", (seed) => {
    const { seen } = traffic({ buckets: ["a", "b", "c", "d", "e"], account: ["b", "d"] }, seed);
    expect(seen.map(({ buckets }) => buckets)).toEqual([["b", "d"]]);
    expect(seen[0]?.before).toBeGreaterThan(seen[0]?.usual ?? Infinity);
  });

  it.each([1, 2, 3])("suspects nobody where refusals are chance, seed %i", (seed) => {
    expect(traffic({ buckets: ["a", "b", "c", "d"], account: [], noise: 0.15 }, seed).seen).toEqual([]);
  });

  it("follows twelve buckets at most, each with twelve others, and lets old evidence fade", () => {
    const buckets = Array.from({ length: 30 }, (_, i) => `bucket-${i}`);
    const { store } = traffic({ buckets, account: buckets, noise: 0.5, spells: 120 }, 1);
    const followed = Object.values(store.head.coincidences);
    expect(followed.length).toBe(12);
    for (const { refused, with: others } of followed) {
      expect(refused).toBeLessThanOrEqual(101);
      expect(Object.keys(others).length).toBeLessThanOrEqual(12);
    }
    expect(store.head.recent.length).toBe(64);
  });
});
