import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Changes, ExchangeReply, ExchangeRequest, Ledger, Lease, Want } from "../../src/ports/ledger.ts";
import { TERMS } from "../fixtures/ledger-client.ts";
import { expectReplayed, overAdmissions, plain } from "../fixtures/ledger-replay.ts";
import { busiest, settled } from "../fixtures/pure-store.ts";
import { noteOfRun } from "../fixtures/run-notes.ts";
import { storm, type Storm } from "./ledger-storm.ts";

/** A store under test, on its real engine, empty at first. */
export interface LedgerStore {
  /** A connection of its own to the one state, as another process or isolate would have it. */
  connect(): Promise<Ledger>;
  /** Moves the store's clock on, or waits where it has one of its own. */
  advance(ms: number): Promise<void>;
  /** Ends every connection as a crash does, and starts anew on what was stored. */
  restart?(): Promise<void>;
  close(): Promise<void>;
}

export interface LedgerContractOptions {
  /** Random storms of sixty-four clients, and the rounds of each: fewer where conflicts make a store slow. */
  readonly storms?: number;
  readonly rounds?: number;
  /** Nothing outlives a crash of the store. */
  readonly forgets?: true;
}

/** What every ledger must hold, whatever it is made of (spec 5, "Must hold"). */
export function ledgerContract(
  name: string,
  open: () => Promise<LedgerStore>,
  { storms = 4, rounds = 24, forgets }: LedgerContractOptions = {},
): void {
  describe(`the ledger contract: ${name}`, () => {
    let store: LedgerStore;
    let ledger: Ledger;
    let sequence = 0;

    beforeEach(async () => {
      store = await open();
      ledger = await store.connect();
    });
    afterEach(() => store.close());

    /** One exchange of client `a`, with an id of its own unless it is given one. */
    const ask = async (more: Partial<ExchangeRequest> = {}, pool = "pool"): Promise<ExchangeReply> =>
      ledger.exchange(pool, {
        id: `a:${++sequence}`,
        terms: TERMS,
        settle: [],
        want: [],
        arrived: 0,
        since: 0,
        leadMs: 0,
        skewMs: 0,
        dice: 0.5,
        ...more,
      });
    const everything = async (pool = "pool"): Promise<Changes> =>
      plain((await ask({ id: `look:${++sequence}` }, pool)).changes);
    const take = async (want: Want, by = "a"): Promise<Lease> => {
      const { leases } = await ask({ id: `${by}:${++sequence}`, want: [want] });
      return leases[0] as Lease;
    };

    const advance = (ms: number) => store.advance(ms);
    const connections = () => Promise.all([0, 1, 2, 3].map(() => store.connect()));
    /** Over-admissions of a storm; `npm test` prints them in a table of all stores. */
    const told = ({ delivered, repeated }: Storm): number => {
      const over = overAdmissions(delivered, TERMS);
      noteOfRun({ storm: { store: name, exchanges: delivered.length, repeated, over } });
      return over;
    };

    it.each(Array.from({ length: storms }, (_, i) => i + 1))(
      "64 clients at once: never over the ceiling, and all that the pure reducer does, seed %i",
      async (seed) => {
        const stormy = await storm({
          seed,
          ledgers: await connections(),
          pool: "pool",
          advance,
          rounds,
          leaps: seed % 4 > 1,
          weighted: seed % 4 === 0,
        });
        const { clients, delivered } = stormy;
        expect(delivered.length).toBeGreaterThan(64);
        expect(new Set(delivered.map(({ reply }) => reply.version)).size).toBe(delivered.length);
        expect(delivered.flatMap(({ reply }) => reply.leases).length).toBeGreaterThan(20);
        expect(told(stormy)).toBe(0);
        const pure = expectReplayed(delivered);
        expect(await everything()).toEqual(plain(pure.changes(0)));

        // Each has missed other parts of the storm; by the changes since then it knows all the same.
        const all = await everything();
        for (const client of clients) {
          client.take(await ask({ ...client.next(), settle: [], want: [], orders: [] }));
          expect(plain(Object.fromEntries(client.buckets))).toEqual(all.buckets);
          expect(plain(Object.fromEntries(client.targets))).toEqual(all.targets);
        }
      },
    );

    it("tells a client that lags by any number of changes all of them", async () => {
      const versions: number[] = [0];
      for (let i = 0; i < 60; i++) {
        const { version } = await ask({ since: versions.at(-1) ?? 0, want: [at(`t${i % 7}`, { withinMs: 60_000 })] });
        versions.push(version);
        if (i % 5 === 0) await store.advance(400);
      }
      const all = await everything();
      for (const since of versions) {
        const { changes } = await ask({ since });
        for (const [id, row] of Object.entries(all.targets)) {
          if (row.version > since) expect(plain(changes.targets[id])).toEqual(row);
        }
        for (const [id, row] of Object.entries(all.buckets)) {
          if (row.version > since) expect(plain(changes.buckets[id])).toEqual(row);
        }
      }
      expect((await ask({ since: versions.at(-1) ?? 0 })).changes).toEqual({ buckets: {}, targets: {} });
    });

    it("tells a client of another life, which knows more than there is, everything", async () => {
      await take(at("t"));
      const { changes, version } = await ask({ id: "stranger:900", since: 1_000_000 });
      expect(version).toBeLessThan(1_000);
      expect(Object.keys(changes.targets)).toEqual(["t"]);
      expect(Object.keys(changes.buckets)).toEqual(["t"]);
    });

    it("settles a request once, however often and however late it is delivered", async () => {
      const lease = await take(at("t"));
      const request = { id: "a:1000", settle: [settled(lease, "failed", { backoff: BACKOFF })], arrived: 5 };
      await Promise.all([ask(request), ask(request), ask(request)]);
      await ask({ id: "a:1001" });
      await store.advance(30);
      await ask(request);
      const { t } = (await everything()).targets;
      expect(t).toMatchObject({ failed: 1, strikes: 1 });
      expect(t?.today.used).toBe(1);
    });

    it("enters what comes late, and gives a slot that has passed to nobody", async () => {
      const [answered, unsent] = [await take(at("t")), await take(at("t"))];
      await store.advance(2_000);
      await ask({ settle: [settled(answered, "ok"), settled(unsent, "unused")] });
      const { buckets, targets } = await everything();
      expect(targets["t"]).toMatchObject({ ok: 1, today: { used: 1 } });
      expect(buckets["t"]?.free).toEqual([]);
    });

    it("a client that dies with slots in hand holds up nobody", async () => {
      const { leases } = await ask({ id: "dead:1", want: [{ ...at("t"), n: 9 }] });
      expect(leases.length).toBeGreaterThan(2);
      const { retryAt } = await ask({ id: "b:1", want: [at("t", { withinMs: 100 })] });
      expect(retryAt[0]).toBeGreaterThan(0);
      await store.advance(2_100);
      const { now } = await ask();
      expect((await take(at("t"), "c")).at - now).toBeLessThan(100);
    });

    it("keeps two pools apart, ids and request ids alike", async () => {
      const want = [{ ...at("t"), n: 2 }];
      const here = await ask({ id: "a:1", want });
      const there = await ask({ id: "a:1", want }, "other");
      expect(there.leases.map((lease) => lease.at - there.now)).toEqual(
        here.leases.map((lease) => lease.at - here.now),
      );
      await ask({ id: "a:2", orders: [{ target: "t", action: "disable" }] }, "other");
      expect((await everything()).targets["t"]?.disabled).toBeNull();
      expect((await everything("other")).targets["t"]?.disabled).toBe("operator");
      expect(await everything("third")).toEqual({ buckets: {}, targets: {} });
    });

    it("an exchange that cannot be made changes nothing and blocks nobody", async () => {
      await take(at("t"));
      const before = await everything();
      const broken = { ...at("u"), picks: null } as unknown as Want;
      const failing = async () => ask({ want: [at("t"), at("u"), broken] });
      await expect(failing()).rejects.toThrow();
      expect(await everything()).toEqual(before);
      expect((await ask({ want: [at("u")] })).leases).toHaveLength(1);
    });

    if (forgets === true) return;

    it("is killed in the middle of it, twice: never over the ceiling, nothing stuck", async () => {
      const restarts = new Set([Math.floor(rounds / 3), Math.floor((2 * rounds) / 3)]);
      const before = async (round: number): Promise<readonly Ledger[] | undefined> => {
        if (!restarts.has(round)) return undefined;
        await store.restart?.();
        return connections();
      };
      const stormy = await storm({ seed: 5, ledgers: await connections(), pool: "pool", advance, rounds, before });
      expect(told(stormy)).toBe(0);
      await store.advance(60_000);
      ledger = await store.connect();
      const { now } = await ask({ orders: [{ target: "target-0", action: "enable" }] });
      expect(
        (await take({ ...at("target-0"), picks: [{ bucket: "fresh", target: "target-0", penaltyMs: 0 }] })).at,
      ).toBeLessThan(now + 1_500);
    });

    it("restarts without a burst; keeps what is parked, disabled, learnt, counted", async () => {
      const parked = await take(at("parked"));
      const disabled = await take(at("disabled"));
      const learnt = await take(at("learnt"));
      const failing = await take(at("failing"));
      const { leases: before } = await ask({ want: [{ ...at("busy"), n: 9 }] });
      await ask({
        settle: [
          settled(parked, "refused", { parkDay: true, error: "rate_limited_daily" }),
          settled(disabled, "failed", { disable: "key_invalid" }),
          settled(learnt, "refused", { observedLimit: 2 }),
          settled(failing, "failed", { backoff: BACKOFF, cannot: { need: "chain:10", ms: 900_000 } }),
        ],
      });
      const kept = await everything();

      if (store.restart === undefined) throw new Error("A store that does not forget can be restarted.");
      await store.restart();
      ledger = await store.connect();
      const now = await everything();
      for (const [id, { version: _version, tat, today, ...bucket }] of Object.entries(kept.buckets)) {
        expect(now.buckets[id]).toMatchObject(bucket);
        expect(now.buckets[id]?.tat).toBeGreaterThanOrEqual(tat);
        // A store that cannot know how many were granted in its last moments counts those that may have been.
        expect(now.buckets[id]?.today.used).toBeGreaterThanOrEqual(today.used);
        expect(now.buckets[id]?.today.used).toBeLessThan(today.used + 12);
      }
      for (const [id, { version: _version, ...target }] of Object.entries(kept.targets)) {
        expect(now.targets[id]).toMatchObject(target);
      }
      for (const target of ["parked", "disabled"]) expect((await ask({ want: [at(target)] })).leases).toEqual([]);
      const { leases: after } = await ask({ id: "new:1", want: [{ ...at("busy", { withinMs: 60_000 }), n: 9 }] });
      const { leases: later } = await ask({ id: "new:2", want: [{ ...at("learnt", { withinMs: 60_000 }), n: 9 }] });
      const instants = (leases: readonly Lease[]) => leases.map((lease) => lease.at);
      expect(busiest(instants([...before, ...after]), TERMS.windowMs)).toBeLessThanOrEqual(3);
      expect(busiest(instants([learnt, ...later]), TERMS.windowMs)).toBeLessThanOrEqual(2);
    });
  });
}

const BACKOFF = { baseMs: 4_000, capMs: 30_000, reason: "network" };

/** A want of one slot of the target that is alone in the bucket of its name. */
function at(target: string, { withinMs = 1_500 } = {}): Want {
  return { n: 1, withinMs, cost: 1, picks: [{ bucket: target, target, penaltyMs: 0 }] };
}
