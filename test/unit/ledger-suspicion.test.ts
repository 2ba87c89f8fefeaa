import { describe, expect, it } from "vitest";
import type { Lease, Settlement } from "../../src/ports/ledger.ts";
import type { Suspicion } from "../../src/ports/state.ts";
import { NOON, PureStore, settled, wanting } from "../fixtures/pure-store.ts";
import { seededRandom } from "../fixtures/seeded-random.ts";

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
