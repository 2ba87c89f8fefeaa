import type { LastingConnection } from "../../adapters/bun/redis-connection.ts";
import { redisLedger } from "../../adapters/redis/index.ts";
import { storeFaults } from "../contract/store-faults.ts";
import { openBunRedis } from "../fixtures/bun-redis.ts";
import { startRedis } from "../fixtures/redis-server.ts";
import { skewedIsolate } from "../fixtures/skewed-isolate.ts";

storeFaults(
  "Bun.redis",
  async (env) => {
    const server = await startRedis({ persist: true });
    const connections: LastingConnection[] = [];
    const isolates = [0, 5_000, -5_000].map((skewMs) => {
      const connection = openBunRedis(server.url);
      connections.push(connection);
      return skewedIsolate({ env, skewMs, ledger: redisLedger({ connection }) });
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
        for (const connection of connections) connection.close();
        await server.stop();
      },
    };
  },
  ["down", "slow"],
);
