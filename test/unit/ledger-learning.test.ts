import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { shareAt } from "../../src/ledger/bucket.ts";
import type { Lease, Settlement } from "../../src/ports/ledger.ts";
import { busiest, NOON, PureStore, settled, TERMS, wanting } from "../fixtures/pure-store.ts";

const MINUTE = 60_000;

const refused = (lease: Pick<Lease, "bucket" | "target" | "at" | "epoch">, stated: number): Settlement =>
  settled(lease, "refused", { error: "rate_limited_second", observedLimit: stated });

/** A refusal of a call that left at `now` under the present calibration. */
function refuse(store: PureStore, now: number, stated: number): void {
  const epoch = store.bucket("b")?.epoch ?? 0;
  store.run(now, { settle: [refused({ bucket: "b", target: "t", at: now, epoch }, stated)] });
}

function succeed(store: PureStore, now: number): void {
  const epoch = store.bucket("b")?.epoch ?? 0;
  store.run(now, { settle: [settled({ bucket: "b", target: "t", at: now, epoch }, "ok")] });
}

const rounded = (values: readonly number[]): number[] => values.map((value) => Math.round(value * 1_000) / 1_000);

/** The distances of the slots from `now` on. */
function paceAt(store: PureStore, now: number, n: number): number[] {
  const at = store.run(now, { want: [wanting(n, 1_500)] }).leases.map((lease) => lease.at);
  return at.slice(1).map((instant, i) => Math.round(instant - (at[i] ?? 0)));
}

describe("the ceiling", () => {
  it.each([
    { stated: 1, gap: 1_075 },
    { stated: 2, gap: 538 },
  ])("comes down to the stated $stated/s at once: a new epoch, one window's rest", ({ stated, gap }) => {
    const store = new PureStore();
    const { leases } = store.run(NOON, { want: [wanting(3)] });
    const tat = store.bucket("b")?.tat ?? 0;
    store.run(NOON + 50, { settle: [refused(leases[0] as Lease, stated)] });
    expect(store.bucket("b")).toMatchObject({ limit: stated, limitSource: "observed", epoch: 1, tat: tat + 1_000 });
    const later = store.run(tat + 1_000, { want: [wanting(2)] }).leases;
    expect(later.map(({ at, epoch }) => [Math.round(at - tat), epoch])).toEqual([
      [1_000, 1],
      [1_000 + gap, 1],
    ]);
  });

  it("goes up to what is stated, above the plan too", () => {
    const store = new PureStore();
    refuse(store, NOON, 5);
    expect(store.bucket("b")).toMatchObject({ limit: 5, limitSource: "observed", epoch: 1 });
    refuse(store, NOON + 10, 8);
    expect(store.bucket("b")).toMatchObject({ limit: 8, epoch: 2 });
    refuse(store, NOON + 20, 2);
    expect(store.bucket("b")).toMatchObject({ limit: 2, epoch: 3 });
  });

  it.each([0, -1, Number.NaN])("does not follow a ceiling of %d, from which nothing would lead back", (stated) => {
    const store = new PureStore();
    refuse(store, NOON, stated);
    expect(store.bucket("b")?.limit).toBe(3);
    expect(store.run(NOON + 2_000, { want: [wanting(1)] }).leases).toHaveLength(1);
  });

  it("follows the configuration until something is learnt, and not after that", () => {
    const store = new PureStore();
    store.run(NOON, { want: [wanting(1)] });
    const faster = { ...TERMS, limit: 10 };
    const at = store.run(NOON + 1_000, { terms: faster, want: [wanting(3)] }).leases.map((lease) => lease.at);
    expect(Math.round((at[1] ?? 0) - (at[0] ?? 0))).toBe(108);
    refuse(store, NOON + 2_000, 2);
    store.run(NOON + 5_000, { terms: faster, want: [wanting(1)] });
    expect(store.bucket("b")?.limit).toBe(2);
  });

  it("is tried 5 % higher after ten minutes without a refusal, and each ten minutes again, up to the plan", () => {
    const store = new PureStore();
    refuse(store, NOON, 2);
    const limits: number[] = [];
    for (let minute = 1; minute <= 120; minute++) {
      succeed(store, NOON + minute * MINUTE);
      limits.push(store.bucket("b")?.limit ?? 0);
    }
    expect(limits.slice(0, 9)).toEqual(Array<number>(9).fill(2));
    const steps = limits.filter((limit, i) => limit !== (limits[i - 1] ?? 2));
    expect(rounded(steps)).toEqual([2.1, 2.205, 2.315, 2.431, 2.553, 2.68, 2.814, 2.955, 3]);
    expect(rounded(limits.slice(18, 20))).toEqual([2.1, 2.205]);
    expect(store.bucket("b")).toMatchObject({ limit: 3, limitSource: "probe" });
  });

  it("is not tried higher while refusals go on, of whatever epoch", () => {
    const store = new PureStore();
    refuse(store, NOON, 2);
    const old = { bucket: "b", target: "t", at: NOON, epoch: 0 };
    store.run(NOON + 9 * MINUTE, { settle: [refused(old, 2)] });
    succeed(store, NOON + 11 * MINUTE);
    expect(store.bucket("b")?.limit).toBe(2);
    succeed(store, NOON + 19 * MINUTE);
    expect(store.bucket("b")?.limit).toBeCloseTo(2.1);
  });

  it("is not tried higher than a ceiling stated above the plan", () => {
    const store = new PureStore();
    refuse(store, NOON, 5);
    succeed(store, NOON + 60 * MINUTE);
    expect(store.bucket("b")?.limit).toBe(5);
  });
});

describe("our share of an account that somebody else spends too", () => {
  it.each([3, 0])("shrinks to 0.7 on a refusal within the ceiling (stated %s), the ceiling stays", (stated) => {
    const store = new PureStore();
    refuse(store, NOON, stated);
    expect(store.bucket("b")).toMatchObject({ limit: 3, limitSource: "configured", share: 0.7, epoch: 1 });
    // 1075 / 3 / 0.7, and a little less each time: the share comes back.
    expect(paceAt(store, NOON + 1, 3)).toEqual([512, 494]);
  });

  it("shrinks again with each refusal of the new epoch, never below 0.2", () => {
    const store = new PureStore();
    const shares = Array.from({ length: 8 }, () => {
      refuse(store, NOON, 3);
      return store.bucket("b")?.share ?? 0;
    });
    expect(rounded(shares.slice(0, 3))).toEqual([0.7, 0.49, 0.343]);
    expect(Math.min(...shares)).toBe(0.2);
  });

  it("is not shrunk by the other refusals of an epoch that has passed", () => {
    const store = new PureStore();
    const { leases } = store.run(NOON, { want: [wanting(5)] });
    for (const lease of leases) store.run(lease.at + 40, { settle: [refused(lease, 3)] });
    expect(store.bucket("b")).toMatchObject({ share: 0.7, epoch: 1 });
  });

  it("comes back by 0.05 a second, to the whole", () => {
    const store = new PureStore();
    refuse(store, NOON, 3);
    const bucket = store.bucket("b");
    if (bucket === undefined) throw new Error("no bucket");
    const shares = [0, 1, 2, 6, 60].map((seconds) => shareAt(bucket, NOON + seconds * 1_000));
    expect(rounded(shares)).toEqual([0.7, 0.75, 0.8, 1, 1]);
    expect(paceAt(store, NOON + 6_000, 3)).toEqual([358, 358]);
  });

  it("shrinks where a refusal states more than we use, and the ceiling goes up", () => {
    const store = new PureStore();
    refuse(store, NOON, 5);
    expect(store.bucket("b")).toMatchObject({ limit: 5, share: 0.7 });
  });
});

describe("a calibration", () => {
  it("voids what was returned and what is returned from before it", () => {
    const store = new PureStore();
    const { leases } = store.run(NOON, { want: [wanting(4)] });
    const [first, second, third] = leases as [Lease, Lease, Lease];
    store.run(NOON + 1, { settle: [settled(second, "unused")] });
    expect(store.bucket("b")?.free).toEqual([second.at]);
    store.run(NOON + 2, { settle: [refused(first, 2)] });
    expect(store.bucket("b")?.free).toEqual([]);
    store.run(NOON + 3, { settle: [settled(third, "unused")] });
    expect(store.bucket("b")?.free).toEqual([]);
  });

  it("is not undone by a refund from before it", () => {
    const store = new PureStore();
    const { leases } = store.run(NOON, { want: [{ ...wanting(1), cost: 3 }] });
    refuse(store, NOON + 10, 2);
    const tat = store.bucket("b")?.tat;
    store.run(NOON + 20, { settle: [settled(leases[0] as Lease, "ok", { costDelta: -2 })] });
    expect(store.bucket("b")?.tat).toBe(tat);
  });

  it("keeps every window within the ceiling in force, whatever is stated when", () => {
    const stated = fc.constantFrom(undefined, 0, 1, 2, 3);
    const step = fc.record({ waitMs: fc.integer({ min: 0, max: 1_500 }), stated });
    fc.assert(
      fc.property(fc.array(step, { minLength: 2, maxLength: 40 }), (steps) => {
        const store = new PureStore();
        let now = NOON;
        let limit = 3;
        let underIt: number[] = [];
        const ever: number[] = [];
        for (const { waitMs, stated } of steps) {
          now += waitMs;
          if (stated !== undefined) refuse(store, now, stated);
          const { limit: inForce } = store.bucket("b") ?? { limit: 3 };
          if (inForce !== limit) underIt = [];
          limit = inForce;
          const instants = store.run(now, { want: [wanting(3, 1_500)] }).leases.map(({ at }) => at);
          underIt.push(...instants);
          ever.push(...instants);
          expect(busiest(underIt, 1_000)).toBeLessThanOrEqual(limit);
          expect(busiest(ever, 1_000)).toBeLessThanOrEqual(3);
        }
      }),
    );
  });
});

describe("a weighted call", () => {
  it("takes no slot that was returned: it may have reserved too little", () => {
    const store = new PureStore();
    const { leases } = store.run(NOON, { want: [wanting(2)] });
    store.run(NOON + 1, { settle: [settled(leases[1] as Lease, "unused")] });
    const heavy = store.run(NOON + 2, { want: [{ ...wanting(1), cost: 3 }] }).leases;
    expect(Math.round((heavy[0]?.at ?? 0) - NOON)).toBe(717);
  });

  it("gets nothing back for units that later calls have left behind", () => {
    const store = new PureStore();
    const { leases } = store.run(NOON, { want: [{ ...wanting(2, 1_500), cost: 3 }] });
    expect(leases).toHaveLength(2);
    const tat = store.bucket("b")?.tat;
    store.run(NOON + 20, { settle: [settled(leases[0] as Lease, "ok", { costDelta: -2 })] });
    expect(store.bucket("b")?.tat).toBe(tat);
  });

  it("that cost more than was reserved delays what comes next, though the timeline has long been idle", () => {
    const store = new PureStore();
    const { leases } = store.run(NOON, { want: [wanting(1)] });
    store.run(NOON + 60_000, { settle: [settled(leases[0] as Lease, "ok", { costDelta: 2 })] });
    const next = store.run(NOON + 60_000, { want: [wanting(1)] }).leases;
    expect(Math.round((next[0]?.at ?? 0) - NOON)).toBe(60_717);
  });
});
