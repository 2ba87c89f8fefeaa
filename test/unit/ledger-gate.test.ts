import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Lease, Settlement } from "../../src/ports/ledger.ts";
import type { Gate } from "../../src/ports/state.ts";
import { NOON, PureStore, settled, wanting } from "../fixtures/pure-store.ts";

type Holder = "bucket" | "target";
const HOLDERS: readonly Holder[] = ["bucket", "target"];
const MINUTE = 60_000;

const gateOf = (store: PureStore, what: Holder): Gate | undefined =>
  what === "bucket" ? store.bucket("b")?.gate : store.target("t")?.gate;

const cooling = (at: number, what: Holder, ms: number, reason = "test"): Settlement =>
  settled({ bucket: "b", target: "t", at, epoch: 0 }, "none", { cool: { what, ms, reason } });

/** A store whose bucket or target is out for a minute from noon. */
function cooled(what: Holder): PureStore {
  const store = new PureStore();
  store.run(NOON, { settle: [cooling(NOON, what, MINUTE)] });
  return store;
}

/** … and whose probe left on the minute. */
function probed(what: Holder): { store: PureStore; probe: Lease } {
  const store = cooled(what);
  const { leases } = store.run(NOON + MINUTE, { id: "owner:1", want: [wanting(1)] });
  return { store, probe: leases[0] as Lease };
}

describe("cooldowns merge", () => {
  it("in any order, at any times, into the one that ends last", () => {
    const cooldown = fc.record({
      waitMs: fc.integer({ min: 0, max: 3_000 }),
      ms: fc.integer({ min: 1, max: 600_000 }),
    });
    fc.assert(
      fc.property(fc.constantFrom(...HOLDERS), fc.array(cooldown, { minLength: 1 }), (what, cooldowns) => {
        const store = new PureStore();
        let now = NOON;
        const ends: number[] = [];
        for (const [i, { waitMs, ms }] of cooldowns.entries()) {
          now += waitMs;
          ends.push(now + ms);
          store.run(now, { settle: [cooling(now, what, ms, `cooldown ${i}`)] });
          const last = Math.max(...ends);
          const reason = `cooldown ${ends.indexOf(last)}`;
          const ramp = cooldowns.slice(0, i + 1).some((other) => other.ms > 2_000);
          expect(gateOf(store, what)).toEqual({ kind: "cooling", until: last, reason, ramp });
        }
      }),
    );
  });

  it("and nothing that clients do brings a slot before the end of one", () => {
    const step = fc.record({
      waitMs: fc.integer({ min: 0, max: 4_000 }),
      client: fc.constantFrom("a", "b", "c"),
      news: fc.constantFrom("ok", "failed", "refused", "unused", "none", "neutral"),
      cool: fc.option(fc.constantFrom(300, 1_000, 2_500, 8_000, 30_000), { nil: undefined }),
      what: fc.constantFrom(...HOLDERS),
      n: fc.integer({ min: 0, max: 3 }),
      desperate: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const store = new PureStore();
        let now = NOON;
        let closedUntil = 0;
        let open: Lease[] = [];
        for (const [i, { waitMs, client, news, cool, what, n, desperate }] of steps.entries()) {
          now += waitMs;
          const [lease, ...rest] = open;
          const settle: Settlement[] = [];
          if (lease !== undefined) {
            open = rest;
            const effect = cool === undefined ? {} : { cool: { what, ms: cool, reason: "test" } };
            settle.push(settled(lease, news, news === "unused" ? {} : effect));
            if (news !== "unused" && cool !== undefined) closedUntil = Math.max(closedUntil, now + cool);
          }
          const want = [{ ...wanting(n, 60_000), ...(desperate ? { ignoreCooldown: true } : {}) }];
          const { leases } = store.run(now, { id: `${client}:${i}`, settle, want });
          if (!desperate) for (const { at } of leases) expect(at).toBeGreaterThanOrEqual(closedUntil);
          open.push(...leases);
        }
      }),
      { numRuns: 400 },
    );
  });
});

describe("the way back", () => {
  it.each([1, 999, 2_000])("from a cooldown of %i ms is the end of it: the full rate at once", (ms) => {
    const store = new PureStore();
    store.run(NOON, { settle: [cooling(NOON, "bucket", ms)] });
    const { leases } = store.run(NOON + ms, { want: [wanting(3)] });
    expect(leases.map(({ at }) => Math.round(at - NOON - ms))).toEqual([0, 358, 717]);
  });

  it.each(HOLDERS)("of a %s from a long one is one probe, owned by one client of twenty", (what) => {
    const store = cooled(what);
    expect(store.run(NOON + MINUTE - 1_600, { want: [wanting(3)] }).leases).toEqual([]);
    const now = NOON + MINUTE - 700;
    const leases = Array.from({ length: 20 }, (_, i) => {
      const reply = store.run(now + i, { id: `client-${i}:1`, want: [wanting(3)] });
      expect(reply.retryAt[0]).toBeGreaterThan(now + i);
      return reply.leases;
    });
    expect(leases.flat()).toHaveLength(1);
    expect(leases[0]?.[0]?.at).toBe(NOON + MINUTE);
    expect(gateOf(store, what)).toMatchObject({ kind: "probing", owner: "client-0" });
  });

  it.each(HOLDERS)("of a %s whose probe was good: half the rate for two windows, then all of it", (what) => {
    const { store, probe } = probed(what);
    const good = probe.at + 150;
    const { leases } = store.run(good, { settle: [settled(probe, "ok")], want: [wanting(2)] });
    expect(gateOf(store, what)).toEqual({ kind: "ramping", until: good + 2_000 });
    const gap = (leases[1]?.at ?? 0) - (leases[0]?.at ?? 0);
    expect(Math.round(gap)).toBe(717);
    const later = store.run(good + 2_100, { want: [wanting(4)] });
    expect(gateOf(store, what)).toEqual({ kind: "open" });
    const [first, second, third] = later.leases.map(({ at }) => at) as [number, number, number];
    expect(Math.round(second - first)).toBe(358);
    expect(Math.round(third - second)).toBe(358);
  });

  it.each(HOLDERS)("of a %s whose probe was lost: another client's probe after ten seconds", (what) => {
    const { store, probe } = probed(what);
    expect(store.run(probe.at + 8_000, { id: "next:1", want: [wanting(1)] }).leases).toEqual([]);
    const { leases } = store.run(probe.at + 10_000, { id: "next:2", want: [wanting(3)] });
    expect(leases).toHaveLength(1);
    expect(gateOf(store, what)).toMatchObject({ kind: "probing", owner: "next", until: probe.at + 20_000 });
    // The lost one turns up after all: it was sent before the new one, and proves nothing about it.
    store.run(probe.at + 10_500, { settle: [settled(probe, "ok")] });
    expect(gateOf(store, what)).toMatchObject({ kind: "probing", owner: "next" });
  });

  it.each(HOLDERS)("of a %s whose probe was given back: the next client's", (what) => {
    const { store, probe } = probed(what);
    store.run(probe.at + 20, { settle: [settled(probe, "unused")] });
    const { leases } = store.run(probe.at + 400, { id: "next:1", want: [wanting(2)] });
    expect(leases).toHaveLength(1);
    expect(gateOf(store, what)).toMatchObject({ kind: "probing", owner: "next" });
  });

  it.each(HOLDERS)("of a %s whose probe was given back ahead of its time: not before its time", (what) => {
    const store = cooled(what);
    const { leases } = store.run(NOON + MINUTE - 1_000, { want: [wanting(1)] });
    store.run(NOON + MINUTE - 900, { settle: [settled(leases[0] as Lease, "unused")] });
    const again = store.run(NOON + MINUTE - 800, { id: "next:1", want: [wanting(1)] });
    expect(again.leases[0]?.at).toBe(NOON + MINUTE);
  });

  it.each(HOLDERS)("of a %s is not opened by a late success of a call sent before the cooldown", (what) => {
    const store = new PureStore();
    const { leases } = store.run(NOON - 100, { want: [wanting(2)] });
    store.run(NOON, { settle: [cooling(NOON, what, MINUTE)] });
    store.run(NOON + 5_000, { settle: [settled(leases[0] as Lease, "ok")] });
    expect(gateOf(store, what)).toMatchObject({ kind: "cooling", until: NOON + MINUTE });
    store.run(NOON + MINUTE, { id: "owner:1", want: [wanting(1)] });
    store.run(NOON + MINUTE + 50, { settle: [settled(leases[1] as Lease, "ok")] });
    expect(gateOf(store, what)).toMatchObject({ kind: "probing", owner: "owner" });
  });

  it.each([...HOLDERS].flatMap((what) => (["probing", "ramping"] as const).map((kind) => ({ what, kind }))))(
    "of a $what that a short cooldown interrupts while $kind begins anew with a probe",
    ({ what, kind }) => {
      const { store, probe } = probed(what);
      if (kind === "ramping") store.run(probe.at + 100, { settle: [settled(probe, "ok")] });
      expect(gateOf(store, what)?.kind).toBe(kind);
      store.run(probe.at + 500, { settle: [cooling(probe.at, what, 1_000)] });
      expect(store.run(probe.at + 1_500, { id: "next:1", want: [wanting(3)] }).leases).toHaveLength(1);
      expect(gateOf(store, what)?.kind).toBe("probing");
    },
  );

  it.each(HOLDERS)("of a %s is not brought forward by a short cooldown while its probe lies ahead", (what) => {
    const store = cooled(what);
    const { leases } = store.run(NOON + MINUTE - 1_400, { id: "owner:1", want: [wanting(1)] });
    expect(leases[0]?.at).toBe(NOON + MINUTE);
    store.run(NOON + MINUTE - 1_300, { settle: [cooling(NOON, what, 200)] });
    expect(store.run(NOON + MINUTE - 1_000, { id: "next:1", want: [wanting(3)] }).leases).toEqual([]);
    expect(gateOf(store, what)).toMatchObject({ kind: "probing", owner: "owner" });
  });
});

describe("a last-resort slot", () => {
  it.each(HOLDERS)("goes in spite of a %s's cooldown, one at a time, and leaves the cooldown as it is", (what) => {
    const store = cooled(what);
    const before = gateOf(store, what);
    const { leases } = store.run(NOON + 10, { want: [{ ...wanting(3), ignoreCooldown: true }] });
    expect(leases.map(({ at }) => at)).toEqual([NOON + 10]);
    expect(gateOf(store, what)).toEqual(before);
    store.run(NOON + 200, { settle: [settled(leases[0] as Lease, "ok")] });
    expect(gateOf(store, what)).toEqual(before);
  });

  it.each(HOLDERS)("does not take the place of a %s's probe under way", (what) => {
    const { store, probe } = probed(what);
    const before = gateOf(store, what);
    store.run(probe.at + 500, { id: "other:1", want: [{ ...wanting(1), ignoreCooldown: true }] });
    expect(gateOf(store, what)).toEqual(before);
  });

  it("is spaced like every other", () => {
    const store = cooled("target");
    const want = [{ ...wanting(1), ignoreCooldown: true }];
    const at = [0, 1, 2].map((ms) => store.run(NOON + ms, { want }).leases[0]?.at ?? 0);
    expect(at.map((instant) => Math.round(instant - NOON))).toEqual([0, 358, 717]);
  });

  it("never goes to a disabled target, nor into a day that is spent, as counted or as told", () => {
    const want = [{ ...wanting(1), ignoreCooldown: true }];
    const disabled = new PureStore();
    disabled.run(NOON, { orders: [{ target: "t", action: "disable" }] });
    expect(disabled.run(NOON, { want }).leases).toEqual([]);

    const terms = { limit: 3, windowMs: 1_000, jitterMs: 75, dailyStop: 1, dailyPacing: false };
    const counted = new PureStore();
    expect(counted.run(NOON, { terms, want }).leases).toHaveLength(1);
    expect(counted.run(NOON + 1_000, { terms, want }).leases).toEqual([]);

    const told = new PureStore();
    const { leases } = told.run(NOON, { want });
    told.run(NOON + 100, { settle: [settled(leases[0] as Lease, "refused", { parkDay: true })] });
    expect(told.run(NOON + 1_000, { want }).leases).toEqual([]);
  });
});
