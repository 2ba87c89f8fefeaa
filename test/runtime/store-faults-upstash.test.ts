import { registerSecrets } from "../fixtures/secret-sink.ts";
import { startRedis } from "../fixtures/redis-server.ts";
import { skewedIsolate } from "../fixtures/skewed-isolate.ts";
import { startUpstash, UPSTASH_FAULTS, type UpstashFault } from "../fixtures/upstash-server.ts";
import { upstashLedger } from "../../adapters/upstash/index.ts";
import { type StoreFault, storeFaults } from "../contract/store-faults.ts";

const TOKEN = "upstash-token-of-the-store-faults";
registerSecrets(TOKEN);

const FAULTS: Record<StoreFault, UpstashFault> = {
  down: { type: "destroy" },
  slow: { type: "delay", ms: 3_000 },
  garbage: UPSTASH_FAULTS.garbage,
};

storeFaults(
  "Upstash",
  async (env) => {
    const redis = await startRedis();
    const upstash = await startUpstash({ redis: redis.port, token: TOKEN });
    const skews = [0, 5_000, -5_000];
    const isolates = skews.map((skewMs) =>
      skewedIsolate({ env, skewMs, ledger: upstashLedger({ url: upstash.url, token: TOKEN }) }),
    );
    return {
      isolates: isolates.map((isolate) => isolate.ask),
      events: () => isolates.flatMap((isolate) => isolate.events),
      fault: async (fault) => upstash.fault(fault === null ? null : FAULTS[fault]),
      close: async () => {
        for (const isolate of isolates) await isolate.close();
        await upstash.close();
        await redis.stop();
      },
    };
  },
  ["down", "slow", "garbage"],
);
