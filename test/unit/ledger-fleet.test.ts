import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Lease } from "../../src/ports/ledger.ts";
import { NOON, PureStore, settled, TERMS, wanting } from "../fixtures/pure-store.ts";

const probing = (n = 1) => wanting(n, 1_500, { probe: true });

/** A store whose target has failed at noon: its next probe is due at half a minute past. */
function sick(): PureStore {
  const store = new PureStore();
  const { leases } = store.run(NOON - 100, { want: [wanting(1)] });
  store.run(NOON, { settle: [settled(leases[0] as Lease, "failed", { error: "network" })] });
  return store;
}

describe("the probe of a sick target", () => {
  it("is due half a minute after a failure, and goes to one client of twenty", () => {
    const store = sick();
    expect(store.run(NOON + 29_999, { want: [probing()] }).leases).toEqual([]);
    const leases = Array.from({ length: 20 }, (_, i) => {
      return store.run(NOON + 30_000 + i, { id: `client-${i}:1`, want: [probing(2), probing()] }).leases;
    });
    expect(leases.flat()).toEqual([expect.objectContaining({ probe: true, at: NOON + 30_000 })]);
  });

  it("that is lost is made again after ten seconds", () => {
    const store = sick();
    const [lost] = store.run(NOON + 30_000, { want: [probing()] }).leases;
    const due = (lost?.at ?? 0) + 10_000;
    expect(store.run(due - 1, { id: "b:1", want: [probing()] }).leases).toEqual([]);
    expect(store.run(due, { id: "b:2", want: [probing()] }).leases).toHaveLength(1);
  });

  it("that is given back is the next client's at once", () => {
    const store = sick();
    const [unused] = store.run(NOON + 30_000, { want: [probing()] }).leases;
    store.run(NOON + 30_050, { settle: [settled(unused as Lease, "unused")] });
    expect(store.run(NOON + 30_500, { id: "b:1", want: [probing()] }).leases).toHaveLength(1);
  });

  it("stays its owner's when another slot of the target is given back", () => {
    const store = sick();
    const { leases } = store.run(NOON + 29_000, { want: [wanting(1)] });
    store.run(NOON + 30_000, { want: [probing()] });
    store.run(NOON + 30_050, { settle: [settled(leases[0] as Lease, "unused")] });
    expect(store.run(NOON + 30_500, { id: "b:1", want: [probing()] }).leases).toEqual([]);
  });

  it.each([
    { outcome: "ok", nextMs: 1_000 },
    { outcome: "failed", nextMs: 30_000 },
    { outcome: "refused", nextMs: 30_000 },
  ] as const)("is followed by the next after $nextMs ms when it was $outcome", ({ outcome, nextMs }) => {
    const store = sick();
    const [probe] = store.run(NOON + 30_000, { want: [probing()] }).leases;
    store.run(NOON + 30_100, { settle: [settled(probe as Lease, outcome)] });
    expect(store.target("t")?.health.probeAt).toBe(NOON + 30_100 + nextMs);
  });
});

describe("the fleet", () => {
  it("counts as demand what arrives, wherever, fading over five seconds", () => {
    const event = fc.record({
      waitMs: fc.integer({ min: 0, max: 5_000 }),
      client: fc.integer({ min: 0, max: 9 }),
      arrived: fc.integer({ min: 0, max: 20 }),
    });
    fc.assert(
      fc.property(fc.array(event, { minLength: 1, maxLength: 60 }), (events) => {
        const store = new PureStore();
        let now = NOON;
        const all: { at: number; arrived: number }[] = [];
        for (const [i, { waitMs, client, arrived }] of events.entries()) {
          now += waitMs;
          all.push({ at: now, arrived });
          const { demand } = store.run(now, { id: `${client}:${i}`, arrived });
          const naive = all.reduce((sum, event) => sum + event.arrived * Math.exp((event.at - now) / 5_000), 0) / 5;
          expect(demand).toBeCloseTo(naive, 6);
        }
      }),
    );
  });

  it("sees eight calls a second as a demand of eight, once however often a request is delivered", () => {
    const store = new PureStore();
    let demand = 0;
    for (let i = 0; i < 400; i++) {
      const request = { id: `client-${i % 20}:${i}`, arrived: 1 };
      store.run(NOON + i * 125, request);
      demand = store.run(NOON + i * 125, request).demand;
    }
    expect(demand).toBeGreaterThan(7.6);
    expect(demand).toBeLessThan(8.4);
  });

  it("is the clients of the last half minute", () => {
    const store = new PureStore();
    for (let i = 0; i < 20; i++) store.run(NOON + i * 1_000, { id: `client-${i}:1` });
    expect(store.run(NOON + 20_000, { id: "client-0:2" }).clients).toBe(20);
    expect(store.run(NOON + 40_500, { id: "client-0:3" }).clients).toBe(1 + 9);
    expect(store.run(NOON + 80_000, { id: "client-0:4" }).clients).toBe(1);
  });

  it("forgets a client after five minutes, and remembers at most 512, the latest", () => {
    const store = new PureStore();
    store.run(NOON, { id: "early:7" });
    store.run(NOON + 299_000, { id: "other:1" });
    expect(Object.keys(store.head.clients)).toEqual(["early", "other"]);
    store.run(NOON + 300_000, { id: "other:2" });
    expect(Object.keys(store.head.clients)).toEqual(["other"]);
    for (let i = 0; i < 600; i++) store.run(NOON + 300_001 + i, { id: `client-${i}:1` });
    const known = Object.keys(store.head.clients);
    expect(known).toHaveLength(512);
    expect(known).toContain("client-599");
    expect(known).not.toContain("client-87");
  });

  it("knows a client by all before the last colon, and its requests by number", () => {
    const store = new PureStore();
    store.run(NOON, { id: "eu:west:9", arrived: 1 });
    store.run(NOON, { id: "eu:west:10", arrived: 1 });
    store.run(NOON, { id: "eu:west:9", arrived: 1 });
    store.run(NOON, { id: "eu:east:9", arrived: 1 });
    expect(store.head.clients).toMatchObject({ "eu:west": { sequence: 10 }, "eu:east": { sequence: 9 } });
    expect(store.head.arrivals).toBe(3);
  });
});

describe("a slot that one client gave back and another took", () => {
  it("leaves the end of the timeline with who holds it: what follows it is charged for the hand-over", () => {
    const store = new PureStore();
    const { leases } = store.run(NOON, { want: [wanting(3)] });
    store.run(NOON + 1, { settle: [settled(leases[1] as Lease, "unused")] });
    const [reissued] = store.run(NOON + 2, { id: "b:1", skewMs: 30, want: [wanting(1)] }).leases;
    expect(reissued?.at).toBe(leases[1]?.at);
    const [next] = store.run(NOON + 3, { id: "b:2", skewMs: 30, want: [wanting(1)] }).leases;
    expect(Math.round((next?.at ?? 0) - NOON)).toBe(1_075 + 30);
  });

  it("is one of sixteen at most, those that have passed not among them", () => {
    const store = new PureStore();
    const terms = { ...TERMS, limit: 50 };
    const { leases } = store.run(NOON, { terms, want: [wanting(60)] });
    const back = (from: number, to: number) => leases.slice(from, to).map((lease) => settled(lease, "unused"));
    store.run(NOON + 1, { terms, settle: back(1, 30) });
    expect(store.bucket("b")?.free).toEqual(leases.slice(1, 17).map(({ at }) => at));
    store.run(NOON + 700, { terms, settle: back(40, 50) });
    expect(store.bucket("b")?.free).toEqual(leases.slice(40, 50).map(({ at }) => at));
  });
});

describe("an operator's order", () => {
  it("takes a target out, whatever good comes from it, and puts it back as new, with its counts", () => {
    const store = new PureStore();
    const { leases } = store.run(NOON, { want: [wanting(3)] });
    const [first, second, third] = leases as [Lease, Lease, Lease];
    const backoff = { baseMs: 60_000, capMs: 60_000, reason: "network" };
    store.run(NOON + 500, { settle: [settled(first, "failed", { backoff, error: "network" })] });
    store.run(NOON + 600, { orders: [{ target: "t", action: "disable" }] });
    store.run(NOON + 700, { settle: [settled(second, "ok")] });
    expect(store.target("t")?.disabled).toBe("operator");
    expect(store.run(NOON + 90_000, { want: [{ ...wanting(1), ignoreCooldown: true }] }).leases).toEqual([]);

    store.run(NOON + 90_100, { settle: [settled(third, "ok")], orders: [{ target: "t", action: "enable" }] });
    expect(store.target("t")).toMatchObject({ disabled: null, gate: { kind: "open" }, strikes: 0, ok: 2, failed: 1 });
    expect(store.target("t")?.today.used).toBe(3);
    expect(store.run(NOON + 90_200, { want: [wanting(3)] }).leases).toHaveLength(3);
  });

  it("puts back a target that was found invalid", () => {
    const store = new PureStore();
    const { leases } = store.run(NOON, { want: [wanting(1)] });
    store.run(NOON + 100, { settle: [settled(leases[0] as Lease, "failed", { disable: "key_invalid" })] });
    expect(store.run(NOON + 1_000, { want: [wanting(1)] }).leases).toEqual([]);
    store.run(NOON + 1_100, { orders: [{ target: "t", action: "enable" }] });
    expect(store.run(NOON + 1_200, { want: [wanting(1)] }).leases).toHaveLength(1);
  });

  it("is obeyed once, and for targets that nobody has used yet", () => {
    const store = new PureStore();
    store.run(NOON, { id: "b:1", orders: [{ target: "new", action: "disable" }] });
    expect(store.target("new")?.disabled).toBe("operator");
    store.run(NOON, { id: "b:2", orders: [{ target: "new", action: "enable" }] });
    store.run(NOON, { id: "b:1", orders: [{ target: "new", action: "disable" }] });
    expect(store.target("new")?.disabled).toBeNull();
  });
});

describe("time", () => {
  it("goes on when the store's clock was an hour ahead for a moment, and comes back to it", () => {
    const store = new PureStore();
    store.run(NOON, {});
    store.run(NOON + 3_600_000, {});
    let clock = NOON;
    const first = store.run(clock, {}).now;
    clock += 600_000;
    const later = store.run(clock, {}).now;
    expect(later - first).toBeCloseTo(0.9 * 600_000, 0);
    for (let hour = 0; hour < 11; hour++) store.run((clock += 3_600_000), {});
    expect(store.run(clock, {}).now).toBe(clock);
  });

  it("never goes back when the store's clock does", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: -7_200_000, max: 7_200_000 }), { minLength: 1, maxLength: 40 }),
        (jumps) => {
          const store = new PureStore();
          let latest = 0;
          const instants: number[] = [];
          for (const jump of jumps) {
            const reply = store.run(NOON + jump, { want: [wanting(2)] });
            // Small steps are waited out, great ones bridged; the slew makes up for them later.
            expect(reply.now).toBeGreaterThanOrEqual(Math.max(latest, NOON + jump));
            latest = reply.now;
            for (const { at } of reply.leases) expect(at).toBeGreaterThanOrEqual(latest);
            instants.push(...reply.leases.map(({ at }) => at));
          }
          expect(instants).toEqual([...instants].sort((a, b) => a - b));
        },
      ),
    );
  });
});
