import { join } from "node:path";
import { Redis } from "ioredis";
import { nodeClock } from "../../../adapters/node/clock.ts";
import { redisLedger } from "../../../adapters/redis/index.ts";
import { upstashLedger } from "../../../adapters/upstash/index.ts";
import type { Ledger } from "../../../src/ports/ledger.ts";
import { createSluice } from "../../../src/sluice.ts";
import { etherscan } from "../../../src/upstreams/etherscan/index.ts";
import { startRedis } from "../../fixtures/redis-server.ts";
import { startUpstash } from "../../fixtures/upstash-server.ts";
import { bundleWorker, startWorkerd } from "../../fixtures/workerd.ts";
import { commandsOf } from "./isolates-real-commands.ts";
import { type Fleet, fromAfar, lapsedIn, type Meter, SENT_AT, type Sharer, type Site } from "./isolates-real-course.ts";
import { isAnswer } from "./nine-keys.ts";

const LIMITER = "sluice";
const TOKEN = "token-of-the-isolates-bench";
/** Each isolate's clock is wrong by up to this much, either way. */
const CLOCK_SPREAD_MS = 5_000;

export const onRedis: Sharer = {
  limiter: LIMITER,
  store: "Redis (ioredis)",
  async open(site) {
    const server = await startRedis();
    const clients: Redis[] = [];
    let trips = 0;
    const fleet = openFleet(site, () => {
      const redis = new Redis(server.port);
      clients.push(redis);
      const send = (command: string, args: string[]): Promise<unknown> => {
        trips++;
        return redis.call(command, ...args);
      };
      return redisLedger({ connection: { send } });
    });
    const commands = await commandsOf(server.port);
    return {
      call: fleet.call,
      meter: async () => ({ ...fleet.spent(), trips, commands: await commands.count() }),
      async close() {
        await fleet.close();
        commands.close();
        for (const redis of clients) redis.disconnect();
        await server.stop();
      },
    };
  },
};

export const onUpstash: Sharer = {
  limiter: LIMITER,
  store: "Upstash (REST)",
  async open(site) {
    const server = await startRedis();
    const upstash = await startUpstash({ redis: server.port, token: TOKEN });
    const fleet = openFleet(site, () => upstashLedger({ url: upstash.url, token: TOKEN }));
    const commands = await commandsOf(server.port);
    return {
      call: fleet.call,
      meter: async () => ({ ...fleet.spent(), trips: upstash.requests(), commands: await commands.count() }),
      async close() {
        await fleet.close();
        commands.close();
        await upstash.close();
        await server.stop();
      },
    };
  },
};

let bundle: Promise<string> | undefined;

export const onDurableObject: Sharer = {
  limiter: LIMITER,
  store: "Durable Object",
  async open({ key, baseUrl, isolates, addedDelay }) {
    bundle ??= bundleWorker(join(import.meta.dirname, "../../fixtures/workers/isolate-worker.ts"));
    const workerd = await startWorkerd({
      script: await bundle,
      ledger: "SluiceLedger",
      isolates,
      env: {
        ETHERSCAN_KEYS: key,
        ETHERSCAN_BASE_URLS: baseUrl,
        CLOCK_SPREAD_MS: String(CLOCK_SPREAD_MS),
        LEDGER_DELAY_MS: addedDelay === null ? "" : `${addedDelay.minMs}-${addedDelay.maxMs}`,
      },
    });
    return {
      async call(isolate, address) {
        const query = new URLSearchParams({ chainid: "1", module: "account", action: "balance", address });
        const response = await fetch(`${workerd.urls[isolate]}etherscan/v2/api?${query.toString()}`);
        const body: unknown = await response.json();
        return response.ok && isAnswer(body);
      },
      async meter() {
        const sum = { decisions: 0, trips: 0, outages: 0, lapsed: 0 };
        const meters = workerd.urls.map(async (url) => (await (await fetch(`${url}meter`)).json()) as Meter);
        for (const { decisions, trips, outages, lapsed } of await Promise.all(meters)) {
          sum.decisions += decisions;
          sum.trips += trips;
          sum.outages += outages;
          sum.lapsed += lapsed;
        }
        return { ...sum, commands: null };
      },
      close: () => workerd.stop(),
    };
  },
};

/** Isolates in this process, each with a wrong clock and a connection of its own to the ledger. */
function openFleet(
  { key, baseUrl, isolates, addedDelay }: Site,
  connect: () => Ledger,
): Pick<Fleet, "call" | "close"> & { spent(): Pick<Meter, "decisions" | "outages" | "lapsed"> } {
  let decisions = 0;
  let outages = 0;
  let lapsed = 0;
  const away = fromAfar(nodeClock, addedDelay);
  const fleet = Array.from({ length: isolates }, () => {
    const skewMs = (2 * Math.random() - 1) * CLOCK_SPREAD_MS;
    const ledger = connect();
    const sluice = createSluice(
      { upstreams: { etherscan: etherscan({ keys: key, baseUrls: baseUrl }) } },
      {
        ledger: {
          exchange(pool, request) {
            decisions++;
            lapsed += lapsedIn(request);
            return away(() => ledger.exchange(pool, request));
          },
        },
        clock: { ...nodeClock, now: () => nodeClock.now() + skewMs },
        transport(request, init) {
          request.headers.set(SENT_AT, String(Date.now()));
          return fetch(request, init);
        },
        events: { emit: ({ type }) => void (outages += type === "ledger_down" ? 1 : 0) },
      },
    );
    return { upstream: sluice.upstream("etherscan"), close: () => sluice.close() };
  });
  return {
    async call(isolate, address) {
      await fleet[isolate]?.upstream.call("account", "balance", { address });
      return true;
    },
    spent: () => ({ decisions, outages, lapsed }),
    close: async () => void (await Promise.all(fleet.map(({ close }) => close()))),
  };
}
