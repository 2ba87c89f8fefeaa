import { mkdtempSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type DenoKv, type DenoKvKey, denoKvLedger, type DenoKvLedgerOptions } from "../../adapters/deno/index.ts";
import type { ExchangeReply, ExchangeRequest, Ledger, Settlement, Want } from "../../src/ports/ledger.ts";
import { openDenoKv } from "../fixtures/deno-kv.ts";
import { plain } from "../fixtures/ledger-replay.ts";
import { busiest, NOON, settled, TERMS } from "../fixtures/pure-store.ts";
import { seededRandom } from "../fixtures/seeded-random.ts";

const DAY_MS = 86_400_000;

let folder: string;
let path: string;
let now: number;
let open: DenoKv[];
let sequence: number;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-deno-kv-"));
  path = join(folder, "kv.db");
  [now, open, sequence] = [NOON, [], 0];
});
afterEach(() => {
  for (const kv of open) kv.close();
  rmSync(folder, { recursive: true });
});

async function connect(options: DenoKvLedgerOptions = {}): Promise<Ledger> {
  return denoKvLedger(await openKv(), { now: () => now, skewMs: 0, random: seededRandom(1), ...options });
}

async function openKv(): Promise<DenoKv> {
  const kv = await openDenoKv(path);
  open.push(kv);
  return kv;
}

function ask(ledger: Ledger, more: Partial<ExchangeRequest> = {}): Promise<ExchangeReply> {
  const usual = { terms: TERMS, settle: [], want: [], arrived: 0, since: 0, leadMs: 0, skewMs: 0, dice: 0.5 };
  return Promise.resolve(ledger.exchange("pool", { id: `a:${++sequence}`, ...usual, ...more }));
}

function at(target: string, n = 1): Want {
  return { n, withinMs: 60_000, cost: 1, picks: [{ bucket: target, target, penaltyMs: 0 }] };
}

/** How many values the pool is stored in, and of which versions its entries are. */
async function stored(): Promise<{ readonly values: number; readonly versions: readonly number[] }> {
  const kv = await openKv();
  const versions: number[] = [];
  let values = 0;
  for await (const { key } of kv.list({ prefix: ["sluice", "ledger", "pool"] })) {
    values++;
    if (key[3] === "changed" && typeof key[4] === "number") versions.push(key[4]);
  }
  return { values, versions };
}

describe("Deno KV's log of a pool", () => {
  it("holds a few entries a target, however long it is in use, and a new connection knows all", async () => {
    const ledger = await connect();
    const other = await connect();
    for (let i = 0; i < 400; i++) {
      await ask(i % 3 === 0 ? other : ledger, { want: [at(`t${i % 5}`)] });
      now += 400;
    }
    const { values } = await stored();
    expect(values).toBeLessThanOrEqual(6);
    expect(plain((await ask(await connect())).changes)).toEqual(plain((await ask(other)).changes));
  });

  it("four hundred targets: entries stay bounded, rows whole, whoever wrote them", async () => {
    const ledgers = [await connect(), await connect()];
    const random = seededRandom(7);
    for (let i = 0; i < 1_200; i++) {
      const ledger = ledgers[i % 2] as Ledger;
      await ask(ledger, { want: [at(`t${Math.floor(random() * 400)}`)] });
      now += 50;
    }
    const { versions } = await stored();
    expect(versions.length).toBeLessThanOrEqual(128);
    const known = await Promise.all([...ledgers, await connect()].map(async (ledger) => (await ask(ledger)).changes));
    expect(Object.keys(known[0]?.targets ?? {}).length).toBeGreaterThan(350);
    for (const { buckets, targets } of known.map(plain)) expect({ buckets, targets }).toEqual(plain(known[0]));
  }, 60_000);

  it("a thousand settlements of a thousand targets after an outage are one exchange", async () => {
    const ledger = await connect();
    const settle: Settlement[] = Array.from({ length: 1_000 }, (_, i) =>
      settled(
        { bucket: `bucket-of-a-long-name-${i}`, target: `target-of-a-long-name-${i}`, at: now, epoch: 0 },
        "failed",
        {
          error: "network",
          standIn: true,
          backoff: { baseMs: 4_000, capMs: 30_000, reason: "network" },
          cannot: { need: `chain:${i}`, ms: 900_000 },
        },
      ),
    );
    const { version } = await ask(ledger, { settle });
    expect(version).toBe(1);
    const { targets } = (await ask(await connect())).changes;
    expect(Object.keys(targets)).toHaveLength(1_000);
    expect(targets["target-of-a-long-name-999"]).toMatchObject({ failed: 1, strikes: 1 });
    // Each of them in use again: the one long entry goes.
    for (let i = 0; i < 1_000; i += 50) {
      await ask(ledger, { settle: settle.slice(i, i + 50).map((item) => ({ ...item, outcome: "ok" })) });
    }
    expect((await stored()).versions).not.toContain(1);
  });

  it("holds a head that is longer than one value: five hundred clients, a dozen buckets that are refused together", async () => {
    const ledger = await connect();
    for (let i = 0; i < 520; i++) {
      const bucket = `bucket-of-a-rather-long-name-${i % 12}`;
      const lease = { bucket, target: bucket, at: now, epoch: 0 };
      await ask(ledger, {
        id: `client-of-a-very-long-name-${"x".repeat(120)}-${i}:1`,
        want: [at(bucket)],
        settle: [settled(lease, "refused", { observedLimit: 0 }), settled(lease, "ok")],
      });
      now += 90;
    }
    const { clients, now: told } = await ask(await connect());
    expect(clients).toBeGreaterThan(300);
    expect(told).toBe(now);
    now += 400_000;
    await ask(ledger);
    now += 1;
    expect((await ask(await connect())).clients).toBe(1);
  }, 60_000);

  it("forgets what nobody has used for long, for every connection, and keeps an operator's decision", async () => {
    const [ledger, other] = [await connect(), await connect()];
    await ask(ledger, { want: [at("old"), at("ordered"), at("new")] });
    await ask(ledger, { orders: [{ target: "ordered", action: "disable" }] });
    await ask(other);
    now += 46 * DAY_MS;
    await ask(other, { want: [at("new")] });
    expect(await ledger.sweep?.("pool")).toBe(3);
    expect(await ledger.sweep?.("pool")).toBe(0);
    for (const connection of [ledger, other, await connect()]) {
      const { buckets, targets } = (await ask(connection)).changes;
      expect(Object.keys(buckets)).toEqual(["new"]);
      expect(Object.keys(targets).sort()).toEqual(["new", "ordered"]);
      expect(targets["ordered"]?.disabled).toBe("operator");
    }
    // It comes back as new.
    expect((await ask(other, { want: [at("old")] })).leases).toHaveLength(1);
    expect((await ask(ledger)).changes.targets["old"]?.ok).toBe(0);
  });

  it("goes on from nothing when the database is emptied, filled anew or not", async () => {
    const ledger = await connect();
    for (let i = 0; i < 3; i++) await ask(ledger, { want: [at("t")] });
    const empty = async () => {
      const kv = await openKv();
      for await (const { key } of kv.list({ prefix: [] }))
        await kv
          .atomic()
          .delete(key as DenoKvKey)
          .commit();
    };
    await empty();
    expect((await ask(ledger)).version).toBe(1);
    await ask(ledger, { want: [at("t")] });
    await empty();
    const other = await connect();
    for (let i = 0; i < 5; i++) await ask(other, { want: [at("u")] });
    const { version, changes } = await ask(ledger);
    expect(version).toBe(6);
    expect(Object.keys(changes.targets)).toEqual(["u"]);
  });
});

describe("a Deno KV that is held by another program", () => {
  it("is waited for, but not longer than anybody waits; and then goes on", async () => {
    const ledger = await connect({ giveUpAfterMs: 300 });
    await ask(ledger, { want: [at("t")] });
    const holder = new DatabaseSync(path);
    holder.exec("BEGIN EXCLUSIVE");
    const from = performance.now();
    const asked = [ask(ledger), ask(ledger)];
    await expect(asked[0]).rejects.toThrow(/locked by another program; end the one that holds it/);
    await expect(asked[1]).rejects.toThrow(/no commit in 300 ms/);
    expect(performance.now() - from).toBeLessThan(8_000);
    holder.exec("ROLLBACK");
    holder.close();
    expect((await ask(ledger, { want: [at("t")] })).leases).toHaveLength(1);
  });

  it("that lets go in time costs nothing but time", async () => {
    const ledger = await connect();
    await ask(ledger);
    const holder = new DatabaseSync(path);
    holder.exec("BEGIN EXCLUSIVE");
    setTimeout(() => holder.exec("ROLLBACK"), 200);
    expect((await ask(ledger, { want: [at("t")] })).leases).toHaveLength(1);
    holder.close();
  });

  it("an error of another kind is handed on at once", async () => {
    const ledger = await connect();
    await ask(ledger);
    for (const kv of open) kv.close();
    open = [];
    await expect(ask(ledger)).rejects.toThrow(/resource/i);
  });
});

describe("machines whose clocks differ", () => {
  const SKEWS = [0, 5_000, -5_000, 40];

  it("follow the one ahead: one time for all, never back, no runaway, no slot twice", async () => {
    const ledgers = await Promise.all(SKEWS.map((skew) => connect({ now: () => now + skew })));
    const random = seededRandom(3);
    const grants: number[] = [];
    let last = 0;
    for (let i = 0; i < 600; i++) {
      const ledger = ledgers[Math.floor(random() * ledgers.length)] as Ledger;
      const reply = await ask(ledger, { want: [at("t")] });
      expect(reply.now).toBeGreaterThanOrEqual(last);
      last = reply.now;
      grants.push(...reply.leases.map((lease) => lease.at));
      now += Math.floor(random() * 200);
    }
    expect(last - now).toBeLessThanOrEqual(5_000);
    expect(last - now).toBeGreaterThan(4_500);
    expect(busiest(grants, TERMS.windowMs)).toBeLessThanOrEqual(3);
  });

  it("who is behind keeps to the time of the one ahead while that one is silent", async () => {
    const [ahead, behind] = [await connect({ now: () => now + 300 }), await connect()];
    await ask(ahead);
    await ask(behind);
    now += 2_000;
    const { now: told } = await ask(behind);
    expect(told - now).toBeLessThanOrEqual(300);
    expect(told - now).toBeGreaterThan(300 - 25);
  });

  it("a clock that was an hour ahead for a moment is not followed for ever", async () => {
    let wrong = 3_600_000;
    const [ill, well] = [await connect({ now: () => now + wrong }), await connect()];
    await ask(ill, { want: [at("t")] });
    wrong = 0;
    const distances: number[] = [];
    for (let i = 0; i < 360; i++) {
      now += 10_000;
      for (const ledger of [ill, well]) distances.push((await ask(ledger)).now - now);
    }
    // By a tenth.
    expect(distances.at(-1)).toBeGreaterThan(3_100_000);
    expect(distances.at(-1)).toBeLessThan(3_250_000);
    expect(distances.every((distance, i) => distance <= (distances[i - 1] ?? Infinity))).toBe(true);
  });

  it("charges the skew that it is told, when a bucket's next slot goes to another isolate", async () => {
    const gapBetween = async (skewMs: number, bucket: string): Promise<number> => {
      const ledger = await connect({ skewMs });
      const first = (await ask(ledger, { id: `x:${++sequence}`, want: [at(bucket)] })).leases[0]?.at ?? 0;
      return ((await ask(ledger, { id: `y:${++sequence}`, want: [at(bucket)] })).leases[0]?.at ?? 0) - first;
    };
    const exact = await gapBetween(0, "a");
    expect((await gapBetween(20, "b")) - exact).toBeCloseTo(20, 3);
  });
});
