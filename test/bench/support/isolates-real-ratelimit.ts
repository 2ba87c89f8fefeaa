import { Redis } from "@upstash/redis";
import { setTimeout as sleep } from "node:timers/promises";
import { realClock } from "../../fixtures/real-clock.ts";
import { startRedis } from "../../fixtures/redis-server.ts";
import { startUpstash } from "../../fixtures/upstash-server.ts";
import { installPeer } from "./install-peer.ts";
import { commandsOf } from "./isolates-real-commands.ts";
import { fromAfar, SENT_AT, type Sharer, type Site } from "./isolates-real-course.ts";
import { isAnswer, urlOf } from "./nine-keys.ts";

const NAME = "@upstash/ratelimit";
const VERSION = "2.2.0";
const TOKEN = "token-of-the-isolates-bench";
const LIMIT = 3;
const BUCKET = "bucket";
/** As long as one of our calls waits. */
const DEADLINE_MS = 10_000;
/** Who was refused asks again so much after the reported reset, at random: else all would ask at once. */
const SPREAD_MS = 50;

type Limiter = object;
type Evaluate = (script: string, keys: string[], args: unknown[]) => Promise<unknown>;
type Script = { readonly evalsha: Evaluate; readonly eval: Evaluate };

/** What we use of the package, after its own type declarations. */
interface RatelimitClass {
  new (options: { redis: Script; limiter: Limiter; ephemeralCache?: false; enableTelemetry: false }): {
    limit(identifier: string): Promise<{ success: boolean; reset: number; reason?: string }>;
  };
  fixedWindow(tokens: number, window: string): Limiter;
  slidingWindow(tokens: number, window: string): Limiter;
  tokenBucket(refillRate: number, interval: string, maxTokens: number): Limiter;
}

/** The limiter that most functions on Vercel and Upstash use, in three ways, with its cache and without; or why not. */
export async function ratelimitSharers(): Promise<readonly Sharer[] | string> {
  const peer = await installPeer(NAME, VERSION);
  if (peer.kind === "missing") return `${NAME}@${VERSION} is left out: ${peer.why}.`;
  const Ratelimit = classOf(peer.module);
  if (Ratelimit === null) return `${NAME}@${VERSION} is left out: it exports something else than expected.`;
  const limiters: readonly (readonly [string, () => Limiter])[] = [
    ["fixedWindow", () => Ratelimit.fixedWindow(LIMIT, "1 s")],
    ["slidingWindow", () => Ratelimit.slidingWindow(LIMIT, "1 s")],
    ["tokenBucket", () => Ratelimit.tokenBucket(LIMIT, "1 s", LIMIT)],
  ];
  return [true, false].flatMap((isCached) =>
    limiters.map(([name, limiter]) => ({
      limiter: `ratelimit ${name}${isCached ? "" : ", no cache"}`,
      store: "Upstash (REST)",
      open: (site) => openFleet(site, Ratelimit, limiter, isCached),
    })),
  ) satisfies readonly Sharer[];
}

async function openFleet(
  site: Site,
  Ratelimit: RatelimitClass,
  limiter: () => Limiter,
  isCached: boolean,
): ReturnType<Sharer["open"]> {
  const server = await startRedis();
  const upstash = await startUpstash({ redis: server.port, token: TOKEN });
  const commands = await commandsOf(server.port);
  const away = fromAfar(realClock, site.addedDelay);
  let decisions = 0;
  let outages = 0;
  const fleet = Array.from({ length: site.isolates }, () => {
    const client = new Redis({ url: upstash.url, token: TOKEN, enableTelemetry: false });
    const redis: Script = {
      evalsha: (...what) => away(() => client.evalsha(...what)),
      eval: (...what) => away(() => client.eval(...what)),
    };
    const cache = isCached ? {} : { ephemeralCache: false as const };
    return new Ratelimit({ redis, limiter: limiter(), ...cache, enableTelemetry: false });
  });

  /** Waits for the call's turn; false when it does not come in time. */
  const admit = async (isolate: number): Promise<boolean> => {
    const deadline = Date.now() + DEADLINE_MS;
    for (;;) {
      decisions++;
      const answer = await fleet[isolate]?.limit(BUCKET);
      if (answer?.reason === "timeout") outages++;
      if (answer?.success === true) return true;
      const at = Math.max(Date.now(), answer?.reset ?? 0) + SPREAD_MS * Math.random();
      if (at > deadline) return false;
      await sleep(at - Date.now());
    }
  };

  return {
    async call(isolate, address) {
      if (!(await admit(isolate))) return false;
      const params = { module: "account", action: "balance", address };
      const headers = { [SENT_AT]: String(Date.now()) };
      const response = await fetch(urlOf(site.baseUrl, site.key, params), { headers });
      return isAnswer(await response.json());
    },
    meter: async () => ({ decisions, trips: upstash.requests(), commands: await commands.count(), outages, lapsed: 0 }),
    async close() {
      commands.close();
      await upstash.close();
      await server.stop();
    },
  };
}

function classOf(module: unknown): RatelimitClass | null {
  if (typeof module !== "object" || module === null || !("Ratelimit" in module)) return null;
  const found: unknown = module.Ratelimit;
  const names = ["fixedWindow", "slidingWindow", "tokenBucket"];
  if (typeof found !== "function" || !names.every((name) => typeof Reflect.get(found, name) === "function"))
    return null;
  return found as unknown as RatelimitClass;
}
