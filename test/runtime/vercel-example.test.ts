import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { CRON_PATH } from "../../adapters/vercel/index.ts";
import { type RedisServer, startRedis } from "../fixtures/redis-server.ts";
import { type SandboxPool, startPool } from "../fixtures/sandbox-pool.ts";
import { registerSecrets } from "../fixtures/secret-sink.ts";
import { startUpstash, type UpstashServer } from "../fixtures/upstash-server.ts";
import { installVercelExample, type NodeFunction, type VercelExample } from "../fixtures/vercel-example.ts";

const CALLER = "vercel-example-caller-0123456789";
const OPERATOR = "vercel-example-operator-0123456789";
const CRON = "vercel-example-cron-secret-0123456789";
const DATABASE = "vercel-example-upstash-token-0123456789";
const READ_ONLY = "vercel-example-upstash-read-only-0123456789";
registerSecrets(CALLER, OPERATOR, CRON, DATABASE, READ_ONLY);

let example: VercelExample;
let redis: RedisServer;
let upstash: UpstashServer;
let pool: SandboxPool;
let databases = 0;

beforeAll(async () => {
  [example, redis] = await Promise.all([installVercelExample(), startRedis()]);
}, 60_000);
afterAll(async () => {
  await redis.stop();
  example.remove();
});
beforeEach(async () => {
  upstash = await startUpstash({ redis: `${redis.url}/${databases++}`, token: DATABASE, readOnlyToken: READ_ONLY });
  pool = await startPool(9);
});
afterEach(async () => {
  await pool.close();
  await upstash.close();
});

function settings(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    ...pool.env,
    SLUICE_TOKENS: CALLER,
    SLUICE_ADMIN_TOKEN: OPERATOR,
    UPSTASH_REDIS_REST_URL: upstash.url,
    UPSTASH_REDIS_REST_TOKEN: DATABASE,
    CRON_SECRET: CRON,
    ...more,
  };
}

function without(...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(settings()).filter(([name]) => !names.includes(name)));
}

async function startOnNode(env = settings()): Promise<NodeFunction> {
  const instance = await example.startOnNode(env);
  onTestFinished(() => instance.stop());
  return instance;
}

function ask(url: string, path: string, token = CALLER): Promise<Response> {
  return fetch(url + path, { headers: { authorization: `Bearer ${token}` } });
}

function balance(i: number): string {
  return `/etherscan/v2/api?chainid=1&module=account&action=balance&address=0x${i.toString(16).padStart(40, "0")}`;
}

describe("examples/vercel", () => {
  it("serves from Node and from the edge by one ledger: no key over its ceiling", async () => {
    const node = await startOnNode();
    const edge = await example.startOnEdge(settings());
    onTestFinished(() => edge.stop());
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) => ask(i % 2 === 0 ? node.url : edge.url, balance(i))),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const { total } = pool.sandbox.counts();
    expect(total.refused).toBe(0);
    expect(total.ok).toBe(60);
    expect((await ask(edge.url, balance(1), "nobody")).status).toBe(401);
    const stats = (await (await ask(node.url, "/-/stats", OPERATOR)).json()) as { upstreams: { targets: unknown[] }[] };
    expect(stats.upstreams[0]?.targets).toHaveLength(9);
  });

  it("has every path rewritten to the function, and the cron's among them", () => {
    expect(example.settings.rewrites).toEqual([{ source: "/(.*)", destination: "/api/sluice" }]);
    expect(example.settings.crons.map(({ path }) => path)).toEqual([CRON_PATH]);
  });

  it("runs the jobs for whoever shows CRON_SECRET, and for nobody else", async () => {
    const { url } = await startOnNode();
    expect((await ask(url, CRON_PATH, CRON)).status).toBe(200);
    expect((await ask(url, CRON_PATH, OPERATOR)).status).toBe(401);
    expect((await fetch(url + CRON_PATH)).status).toBe(401);
    expect(await (await ask(url, CRON_PATH, CRON)).json()).toEqual({
      jobs: [{ job: "sweep", ok: true, detail: "left to the store" }],
    });
  });

  it("runs them for nobody without CRON_SECRET, and says how to set it", async () => {
    const { url } = await startOnNode(without("CRON_SECRET"));
    for (const token of ["", "undefined", CRON]) {
      const answer = await ask(url, CRON_PATH, token);
      expect(answer.status).toBe(503);
      expect(((await answer.json()) as { detail: string }).detail).toContain("`vercel env add CRON_SECRET production`");
    }
  });

  it("without a database spends slices, and says how to connect one", async () => {
    const instance = await startOnNode(without("UPSTASH_REDIS_REST_URL", "UPSTASH_REDIS_REST_TOKEN"));
    expect((await ask(instance.url, balance(1))).status).toBe(200);
    await expect.poll(() => instance.output).toMatch(/"config_warning"/);
    expect(instance.output).toContain("`vercel integration add upstash`");
    expect(instance.output).toContain("each instance spends 1/20 of every ceiling");
  });

  it.each([
    ["a wrong token", { UPSTASH_REDIS_REST_TOKEN: "an-invented-token-0123456789" }, /set UPSTASH_REDIS_REST_TOKEN/],
    ["the read-only token", { UPSTASH_REDIS_REST_TOKEN: READ_ONLY }, /standard token, not the read-only one/],
  ])("with %s goes on in slices, and says what to set", async (_what, more, words) => {
    const instance = await startOnNode(settings(more));
    expect((await ask(instance.url, balance(1))).status).toBe(200);
    await expect.poll(() => instance.output).toMatch(/"ledger_down"/);
    expect(instance.output).toMatch(words);
  });

  it.each([
    [
      "a redis:// URL",
      { UPSTASH_REDIS_REST_URL: "redis://default:secret@host:6379" },
      /UPSTASH_REDIS_REST_URL.*redis:\/\//,
    ],
    ["a URL alone", { UPSTASH_REDIS_REST_TOKEN: "" }, /UPSTASH_REDIS_REST_TOKEN: set it/],
    ["empty callers", { SLUICE_TOKENS: "" }, /SLUICE_TOKENS/],
    ["a malformed slice", { ETHERSCAN_BASE_URLS: "not a url" }, /ETHERSCAN_BASE_URLS|baseUrls/],
  ])("with %s answers what is wrong", async (_what, more, words) => {
    const { url } = await startOnNode(settings(more));
    const answer = await ask(url, balance(1));
    expect(answer.status).toBeGreaterThanOrEqual(500);
    expect(await answer.text()).toMatch(words);
  });
});
