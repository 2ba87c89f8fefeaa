import { Redis } from "ioredis";
import { redisLedger } from "../../adapters/redis/index.ts";
import { NOON } from "../fixtures/pure-store.ts";
import { ledgerContract } from "./ledger.ts";

ledgerContract("Redis", async () => {
  const redis = new Redis(7391, { maxRetriesPerRequest: 1 });
  await redis.flushall();
  let now = NOON;
  return {
    connect: async () =>
      redisLedger({
        connection: { send: (command, args) => redis.call(command, ...args) },
        now: () => now,
      }),
    advance: async (ms) => void (now += ms),
    restart: async () => {},
    close: async () => redis.disconnect(),
  };
});
