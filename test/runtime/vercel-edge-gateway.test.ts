import { afterAll, beforeAll } from "vitest";
import { gatewayContract } from "../contract/gateway.ts";
import { bundleEdge, startEdge } from "../fixtures/edge-runtime.ts";
import { type RedisServer, startRedis } from "../fixtures/redis-server.ts";
import { registerSecrets } from "../fixtures/secret-sink.ts";
import { startUpstash, type UpstashServer } from "../fixtures/upstash-server.ts";

const TOKEN = "upstash-token-of-the-edge-gateway";
registerSecrets(TOKEN);
const FUNCTION = `
import { configFromEnv } from "../../src/index.ts";
import { vercel } from "../../adapters/vercel/index.ts";
const handler = vercel(configFromEnv);
addEventListener("fetch", (event) => event.respondWith(handler(event.request)));
`;
const bundled = bundleEdge(FUNCTION, import.meta.dirname);
let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

let databases = 0;

/** Every gateway has a database of its own. */
async function openDatabase(): Promise<UpstashServer> {
  return startUpstash({ redis: `${redis.url}/${databases++ % 16}`, token: TOKEN });
}

gatewayContract(
  "Vercel Edge",
  async (env) => {
    const upstash = await openDatabase();
    const edge = await startEdge(await bundled, {
      ...env,
      UPSTASH_REDIS_REST_URL: upstash.url,
      UPSTASH_REDIS_REST_TOKEN: TOKEN,
    });
    return {
      url: edge.url,
      stop: async () => {
        await edge.stop();
        await upstash.close();
      },
    };
  },
  { seesPeers: false, front: "platform", seesLeaving: false },
);
