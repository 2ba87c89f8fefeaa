import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, vi } from "vitest";
import { DurablePool } from "../../adapters/cloudflare/durable-pool.ts";
import type { ObjectStorage } from "../../adapters/cloudflare/object-state.ts";
import type { ExchangeReply, ExchangeRequest, Want } from "../../src/ports/ledger.ts";
import { TERMS } from "../fixtures/ledger-client.ts";
import { NOON, settled } from "../fixtures/pure-store.ts";

/** An object's storage on SQLite itself, which counts the rows that are written. */
class TestStorage implements ObjectStorage {
  readonly database: DatabaseSync = new DatabaseSync(":memory:");
  written = 0;
  alarms = 0;
  readonly sql = {
    exec: (query: string, ...bindings: (string | number)[]) => {
      if (query.startsWith("INSERT")) this.written++;
      const rows = this.database.prepare(query).all(...bindings);
      return { toArray: () => rows };
    },
  };

  transactionSync<T>(run: () => T): T {
    return run();
  }

  async setAlarm(): Promise<void> {
    this.alarms++;
  }
}

let sequence = 0;
function ask(pool: DurablePool, now: number, more: Partial<ExchangeRequest> = {}): ExchangeReply {
  const id = `a:${++sequence}`;
  const base = { id, terms: TERMS, settle: [], want: [], arrived: 0, since: 0, leadMs: 0, skewMs: 0, dice: 0.5 };
  return pool.exchange({ ...base, ...more }, now);
}

function wanting(target: string, n = 1): Want {
  return { n, withinMs: 1_500, cost: 1, picks: [{ bucket: target, target, penaltyMs: 0 }] };
}

describe("a pool in a Durable Object", () => {
  it("writes about one row a second under full load, and none for good news", () => {
    const storage = new TestStorage();
    const pool = new DurablePool(storage, NOON);
    let now = NOON;
    for (; now < NOON + 60_000; now += 100) {
      const { leases } = ask(pool, now, { want: [wanting("t")] });
      ask(pool, now + 50, { settle: leases.map((lease) => settled(lease, "ok")) });
    }
    expect(storage.written).toBeGreaterThan(20);
    expect(storage.written).toBeLessThan(75);
  });

  it("writes bad news and orders at once", () => {
    const storage = new TestStorage();
    const pool = new DurablePool(storage, NOON);
    const [lease] = ask(pool, NOON, { want: [wanting("t")] }).leases;
    const before = storage.written;
    ask(pool, NOON + 10, { settle: lease === undefined ? [] : [settled(lease, "failed", { disable: "key_invalid" })] });
    ask(pool, NOON + 20, { orders: [{ target: "u", action: "disable" }] });
    expect(storage.written - before).toBe(2);
    const { changes } = ask(new DurablePool(storage, NOON + 30), NOON + 30);
    expect(changes.targets["t"]?.disabled).toBe("key_invalid");
    expect(changes.targets["u"]?.disabled).toBe("operator");
  });

  it("grants nothing in a new life before what it may have granted in the last one, and counts it for the day", () => {
    const storage = new TestStorage();
    const pool = new DurablePool(storage, NOON);
    const used = [0, 400, 800].flatMap((at) => ask(pool, NOON + at, { want: [wanting("t")] }).leases);
    const reborn = new DurablePool(storage, NOON + 900);
    const { leases, changes } = ask(reborn, NOON + 900, { want: [{ ...wanting("t"), withinMs: 60_000 }] });
    expect(used).toHaveLength(3);
    expect(leases[0]?.at).toBeGreaterThan((used.at(-1)?.at ?? 0) + 350);
    // The one now granted among them.
    expect(changes.buckets["t"]?.today.used).toBeGreaterThan(used.length);
  });

  it("keeps 1,500 targets in pieces", () => {
    const storage = new TestStorage();
    const pool = new DurablePool(storage, NOON);
    const names = Array.from({ length: 1_500 }, (_, i) => `target-${i}`);
    for (const name of names) ask(pool, NOON, { want: [wanting(name)] });
    ask(pool, NOON + 1, { orders: [{ target: "target-7", action: "disable" }] });
    expect(storage.sql.exec("SELECT name FROM state WHERE name LIKE 'piece%'").toArray().length).toBeGreaterThan(1);
    const { changes } = ask(new DurablePool(storage, NOON + 2), NOON + 2);
    expect(Object.keys(changes.targets)).toHaveLength(1_500);
    expect(changes.targets["target-7"]?.disabled).toBe("operator");
  });

  it.each([
    ["no JSON", "{"],
    ["an object of another shape", "{}"],
    ["null", "null"],
    ["a later version", '{"shape":99,"head":{},"buckets":{},"targets":{},"mark":0}'],
  ])("begins anew after a rest when its storage holds %s, and says so", (_what, value) => {
    const storage = new TestStorage();
    void new DurablePool(storage, NOON);
    storage.sql.exec("INSERT INTO state VALUES ('piece-00000', ?)", value);
    const said = vi.spyOn(console, "error").mockImplementation(() => {});
    const pool = new DurablePool(storage, NOON);
    expect(said.mock.calls.join()).toMatch(/unreadable or of another version/);
    said.mockRestore();
    expect(ask(pool, NOON, { want: [wanting("t")] }).leases).toEqual([]);
    expect(ask(pool, NOON + 6_000, { want: [wanting("t")] }).leases).toHaveLength(1);
  });

  it("writes what is left when its alarm rings, and only then", () => {
    const storage = new TestStorage();
    const pool = new DurablePool(storage, NOON);
    const [lease] = ask(pool, NOON, { want: [wanting("t")] }).leases;
    ask(pool, NOON + 300, { settle: lease === undefined ? [] : [settled(lease, "ok")] });
    const before = storage.written;
    pool.alarm(NOON + 5_000);
    expect(storage.written - before).toBe(1);
    pool.alarm(NOON + 10_000);
    expect(storage.written - before).toBe(1);
    expect(ask(new DurablePool(storage, NOON + 20_000), NOON + 20_000).changes.targets["t"]?.ok).toBe(1);
  });
});
