import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { redisLedger } from "../../adapters/redis/index.ts";
import type { ExchangeReply, ExchangeRequest, Want } from "../../src/ports/ledger.ts";
import { TERMS } from "../fixtures/ledger-client.ts";
import { NOON } from "../fixtures/pure-store.ts";
import { type RedisServer, startRedis } from "../fixtures/redis-server.ts";
import { ledgerContract } from "./ledger.ts";

let server: RedisServer;
let stores = 0;

beforeAll(async () => {
  server = await startRedis({ persist: true });
});
afterAll(() => server.stop());

ledgerContract("Redis", async () => {
  const prefix = `store-${++stores}`;
  let now = NOON;
  let open: Redis[] = [];
  const closeAll = () => {
    for (const redis of open) redis.disconnect();
    open = [];
  };
  return {
    connect: async () => {
      const redis = new Redis(server.port, { maxRetriesPerRequest: 1 });
      open.push(redis);
      return redisLedger({
        connection: { send: (command, args) => redis.call(command, ...args) },
        prefix,
        now: () => now,
      });
    },
    advance: async (ms) => void (now += ms),
    restart: async () => {
      closeAll();
      await server.kill();
      await server.restart();
    },
    close: async () => closeAll(),
  };
});

describe("a Redis that loses what it holds", () => {
  const want: Want = { n: 1, withinMs: 60_000, cost: 1, picks: [{ bucket: "b", target: "t", penaltyMs: 0 }] };
  const open = (prefix: string, now: () => number) => {
    const redis = new Redis(server.port, { maxRetriesPerRequest: 1 });
    onTestFinished(() => redis.disconnect());
    const ledger = redisLedger({ connection: { send: (c, args) => redis.call(c, ...args) }, prefix, now });
    let sequence = 0;
    const ask = async (more: Partial<ExchangeRequest> = {}): Promise<ExchangeReply> =>
      ledger.exchange("pool", {
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
    return { redis, ask, rows: `${prefix}:v1:{pool}:rows`, versions: `${prefix}:v1:{pool}:versions` };
  };

  it("rests when its keys were flushed: what it had granted is under way", async () => {
    let now = NOON;
    const { redis, ask, rows, versions } = open("flushed", () => now);
    const { version, leases } = await ask({ want: [want] });
    expect(leases).toHaveLength(1);
    await redis.del(rows, versions);
    expect((await ask({ since: version, want: [want] })).leases).toEqual([]);
    now += 3_000;
    expect((await ask({ want: [want] })).leases).toHaveLength(1);
  });

  it("tells a newcomer everything although the order of changes was evicted", async () => {
    const { redis, ask, versions } = open("evicted", () => NOON);
    await ask({ orders: [{ target: "t", action: "disable" }] });
    await redis.del(versions);
    expect((await ask()).changes.targets["t"]?.disabled).toBe("operator");
  });

  it("keeps a pool that is used a little, and lets an abandoned one go", async () => {
    let now = NOON;
    const { redis, ask, rows, versions } = open("seldom", () => now);
    await ask({ want: [want] });
    for (const key of [rows, versions]) await redis.pexpire(key, 60_000);
    await ask({ want: [want] });
    expect(await redis.pttl(rows)).toBeLessThanOrEqual(60_000);
    now += 86_400_000;
    await ask({ want: [want] });
    for (const key of [rows, versions]) expect(await redis.pttl(key)).toBeGreaterThan(40 * 86_400_000);
  });
});
