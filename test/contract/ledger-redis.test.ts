import { Redis } from "ioredis";
import { afterAll, beforeAll } from "vitest";
import { redisLedger } from "../../adapters/redis/index.ts";
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
