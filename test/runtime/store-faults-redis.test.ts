import { Redis } from "ioredis";
import { redisLedger } from "../../adapters/redis/index.ts";
import { storeFaults } from "../contract/store-faults.ts";
import { startRedis } from "../fixtures/redis-server.ts";
import { skewedIsolate } from "../fixtures/skewed-isolate.ts";

storeFaults(
  "Redis",
  async (env) => {
    const server = await startRedis({ persist: true });
    const clients: Redis[] = [];
    const isolates = [0, 5_000, -5_000].map((skewMs) => {
      const redis = new Redis(server.port, { maxRetriesPerRequest: 1 });
      redis.on("error", () => undefined);
      clients.push(redis);
      return skewedIsolate({
        env,
        skewMs,
        ledger: redisLedger({ connection: { send: (c, args) => redis.call(c, ...args) } }),
      });
    });
    return {
      isolates: isolates.map((isolate) => isolate.ask),
      events: () => isolates.flatMap((isolate) => isolate.events),
      async fault(fault) {
        if (fault === "down") await server.kill();
        else if (fault === "slow") server.pause();
        else {
          server.resume();
          await server.restart();
        }
      },
      async close() {
        for (const isolate of isolates) await isolate.close();
        for (const redis of clients) redis.disconnect();
        await server.stop();
      },
    };
  },
  ["down", "slow"],
);
