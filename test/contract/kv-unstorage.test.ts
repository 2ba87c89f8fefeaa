import { Redis } from "ioredis";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStorage, type Driver, prefixStorage, type Storage } from "unstorage";
import fsLiteDriver from "unstorage/drivers/fs-lite";
import memoryDriver from "unstorage/drivers/memory";
import redisDriver from "unstorage/drivers/redis";
import upstashDriver from "unstorage/drivers/upstash";
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from "vitest";
import { type StorageLike, unstorageKv } from "../../adapters/unstorage/index.ts";
import { NOON } from "../fixtures/pure-store.ts";
import { type RedisServer, startRedis } from "../fixtures/redis-server.ts";
import { startUpstash, type UpstashServer } from "../fixtures/upstash-server.ts";
import { kvContract, type KvStore } from "./kv.ts";

const TOKEN = "token-of-the-test";

let redis: RedisServer;
let upstash: UpstashServer;
beforeAll(async () => {
  redis = await startRedis();
  upstash = await startUpstash({ redis: redis.port, token: TOKEN });
});
afterAll(async () => {
  await upstash.close();
  await redis.stop();
});

const onDriver = (driver: Driver, clean: () => void = () => undefined): KvStore => {
  const storage = createStorage({ driver });
  let now = NOON;
  return {
    kv: unstorageKv(storage, { now: () => now }),
    advance: (ms) => void (now += ms),
    close: async () => {
      await storage.clear();
      await storage.dispose();
      clean();
    },
  };
};
const upstashOptions = () => ({ url: upstash.url, token: TOKEN, retry: { retries: 0 }, enableTelemetry: false });
const listsExpired = true;

kvContract("unstorage, memory driver", async () => onDriver(memoryDriver()), { listsExpired });
kvContract(
  "unstorage, fs-lite driver",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-kv-"));
    return onDriver(fsLiteDriver({ base: folder }), () => rmSync(folder, { recursive: true, force: true }));
  },
  { listsExpired, tears: true },
);
kvContract("unstorage, redis driver", async () => onDriver(redisDriver({ url: redis.url })), { listsExpired });
kvContract("unstorage, redis driver with a base", async () => onDriver(redisDriver({ url: redis.url, base: "kv" })), {
  listsExpired,
});
kvContract("unstorage, upstash driver", async () => onDriver(upstashDriver(upstashOptions())), { listsExpired });

describe("unstorageKv", () => {
  test("takes unstorage's own Storage", () => {
    expectTypeOf<Storage>().toExtend<StorageLike>();
    expectTypeOf(createStorage<string>).returns.toExtend<StorageLike>();
  });

  test("keeps to its part of a prefixed storage, and out of what others keep there", async () => {
    const storage = createStorage();
    const kv = unstorageKv(prefixStorage(storage, "mine"));
    await kv.setItem("a:b", 1);
    await storage.setItem("mine:a:foreign", "x");
    await storage.setItem("mine:a:%zz~", "x");
    await storage.setItem("a:b~", "x");
    expect(await kv.getKeys()).toEqual(["a:b"]);
    expect(await kv.getKeys("a:")).toEqual(["a:b"]);
    expect(await kv.getItem("a:foreign")).toBeNull();
  });

  test.each([["text"], [1], [[1]], [{ v: 1 }], [{ until: null }], [{ v: 1, until: "soon" }], ["{ v: 1"]])(
    "what another has written counts as absent: %j",
    async (foreign) => {
      const storage = createStorage();
      const kv = unstorageKv(storage);
      await storage.setItem("key~", foreign);
      expect(await kv.getItem("key")).toBeNull();
    },
  );

  test("gives the driver a time to live that all of them take, never less than its own", async () => {
    const seen: unknown[] = [];
    const { setItem, ...driver } = memoryDriver();
    const storage = createStorage({
      driver: {
        ...driver,
        setItem: (key, value, options) => {
          seen.push(options["ttl"]);
          return setItem?.(key, value, options);
        },
      },
    });
    const kv = unstorageKv(storage);
    for (const ttl of [0.5, 60, 60.001, 3_600]) await kv.setItem("key", 1, { ttl });
    await kv.setItem("key", 1);
    expect(seen).toEqual([60, 60, 61, 3_600, undefined]);
  });

  test("Redis drops by itself what has expired", async () => {
    const storage = createStorage({ driver: redisDriver({ url: redis.url }) });
    const kv = unstorageKv(storage);
    await kv.setItem("with", 1, { ttl: 90 });
    await kv.setItem("without", 1);
    const client = new Redis(redis.url);
    expect(await client.ttl("with~")).toBeGreaterThan(85);
    expect(await client.ttl("without~")).toBe(-1);
    await client.flushall();
    client.disconnect();
    await storage.dispose();
  });

  test("a store that fails is an error, not an absence", async () => {
    const kv = unstorageKv(createStorage({ driver: upstashDriver(upstashOptions()) }));
    upstash.fault({ type: "answer", status: 500, body: "<html>" });
    try {
      await expect(kv.getItem("key")).rejects.toThrow();
      await expect(kv.setItem("key", 1)).rejects.toThrow();
      await expect(kv.getKeys("a:")).rejects.toThrow();
    } finally {
      upstash.fault(null);
    }
  });
});
