import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { installBunExample } from "../fixtures/bun-example.ts";
import { launch as launchBun } from "../fixtures/bun-serve.ts";
import { buildExample, deploy } from "../fixtures/cloudflare-example.ts";
import { copyDenoExample } from "../fixtures/deno-example.ts";
import { startGateway } from "../fixtures/gateway-process.ts";
import { startRedis } from "../fixtures/redis-server.ts";
import { type SandboxPool, startPool } from "../fixtures/sandbox-pool.ts";
import { registerSecrets } from "../fixtures/secret-sink.ts";
import { startUpstash } from "../fixtures/upstash-server.ts";
import { installVercelExample } from "../fixtures/vercel-example.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const CALLER = "same-answers-caller-0a1b2c3d4e5f";
const OPERATOR = "same-answers-operator-0a1b2c3d4e5f";
const DATABASE = "same-answers-upstash-token-0a1b2c3d4e5f";
registerSecrets(CALLER, OPERATOR, DATABASE);

const ADDRESS = `0x${"6".repeat(40)}`;
const QUERY = `module=account&action=balance&address=${ADDRESS}`;
const V2 = "/etherscan/v2/api";

interface Ask extends RequestInit {
  readonly path: string;
  readonly token?: string;
}

const FORM = { "content-type": "application/x-www-form-urlencoded" };

/** Each with the status that all must give, so that they are not the same in a failure. */
const REQUESTS: readonly (readonly [what: string, status: number, ask: Ask])[] = [
  ["a call", 200, { path: `${V2}?chainid=1&${QUERY}` }],
  ["a call in the v1 form", 200, { path: `/etherscan/api?${QUERY}` }],
  ["a call as a form", 200, { path: `${V2}?chainid=1`, method: "POST", body: QUERY, headers: FORM }],
  ["a call that the explorer refuses", 200, { path: `${V2}?chainid=1&${QUERY.replace(ADDRESS, "0x1")}` }],
  ["a call without its action", 400, { path: `${V2}?chainid=1&module=account` }],
  ["a call without a token", 401, { path: `${V2}?chainid=1&${QUERY}`, token: "" }],
  ["a path that the upstream has not", 404, { path: "/etherscan/v3/api" }],
  ["a path that nobody has", 404, { path: "/nowhere" }],
  ["a HEAD", 405, { path: `${V2}?chainid=1&${QUERY}`, method: "HEAD" }],
  ["a query that is too long", 414, { path: `${V2}?chainid=1&${QUERY}&tag=${"x".repeat(33_000)}` }],
];

interface Answer {
  readonly status: number;
  readonly type: string | null;
  readonly allow: string | null;
  readonly body: string;
}

/** Starts an example as its user does and gives its URL; what ends it goes to the head of `ends`. */
type Start = (env: Readonly<Record<string, string>>, ends: (() => unknown)[]) => Promise<string>;
const STARTS: Readonly<Record<string, Start>> = {
  async node(env, ends) {
    const gateway = await startGateway({ ...env, SLUICE_CONFIG: join(ROOT, "examples/node/sluice.config.ts") });
    ends.unshift(() => gateway.stop());
    return gateway.url;
  },
  async deno(env, ends) {
    const example = copyDenoExample();
    ends.unshift(() => example.remove());
    const served = await example.start(env);
    ends.unshift(() => served.stop());
    return served.url;
  },
  async bun(env, ends) {
    const example = await installBunExample();
    ends.unshift(() => example.remove());
    // Bun's own server takes 16 KiB of a request's head and answers the rest itself, unless it is told otherwise.
    const more = { PORT: "0", BUN_OPTIONS: "--max-http-header-size=98304" };
    const served = await launchBun(["start"], {
      cwd: example.folder,
      env: { ...env, ...more },
      ended: () => undefined,
    });
    ends.unshift(() => served.stop());
    return served.url;
  },
  async cloudflare(env, ends) {
    const worker = await deploy({ ...(await buildExample()), env });
    ends.unshift(() => worker.stop());
    return worker.urls[0] ?? "";
  },
  async vercel(env, ends) {
    const redis = await startRedis();
    ends.unshift(() => redis.stop());
    const upstash = await startUpstash({ redis: redis.url, token: DATABASE });
    ends.unshift(() => upstash.close());
    const example = await installVercelExample();
    ends.unshift(() => example.remove());
    const instance = await example.startOnNode({
      ...env,
      UPSTASH_REDIS_REST_URL: upstash.url,
      UPSTASH_REDIS_REST_TOKEN: DATABASE,
      // What stands for the launcher is Node's own server, which takes less of a URL than the platform does.
      NODE_OPTIONS: "--max-http-header-size=98304",
    });
    ends.unshift(() => instance.stop());
    return instance.url;
  },
};
const NAMES = Object.keys(STARTS);

test("the configuration is one file, byte for byte, on every platform", () => {
  const files = NAMES.map((name) => readFileSync(join(ROOT, "examples", name, "sluice.config.ts")));
  expect(files).toHaveLength(5);
  for (const file of files) expect(file.equals(files[0] ?? Buffer.alloc(0))).toBe(true);
});

describe("the examples give the same answers", () => {
  let pool: SandboxPool;
  const ends: (() => unknown)[] = [];
  const urls = new Map<string, string>();
  beforeAll(async () => {
    pool = await startPool(9);
    const env = { ...pool.env, SLUICE_TOKENS: CALLER, SLUICE_ADMIN_TOKEN: OPERATOR };
    // One after the other: three of them build.
    for (const name of NAMES) urls.set(name, (await STARTS[name]?.(env, ends)) ?? "");
  }, 120_000);
  afterAll(async () => {
    for (const end of ends) await end();
    await pool?.close();
  }, 60_000);

  async function ask(name: string, { path, token = CALLER, ...init }: Ask): Promise<Answer> {
    const headers = new Headers(init.headers);
    // The request's id stands in problem documents.
    headers.set("x-request-id", "same-answers");
    if (token !== "") headers.set("authorization", `Bearer ${token}`);
    const answer = await fetch(`${urls.get(name)}${path}`, { ...init, headers });
    expect(answer.headers.get("x-request-id")).toBe("same-answers");
    return {
      status: answer.status,
      type: answer.headers.get("content-type"),
      allow: answer.headers.get("allow"),
      body: await answer.text(),
    };
  }

  test.each(REQUESTS)("to %s", async (_what, status, request) => {
    const answers = await Promise.all(NAMES.map((name) => ask(name, request)));
    const [first] = answers;
    expect(first?.status).toBe(status);
    if (request.method !== "HEAD") expect(first?.body).toMatch(/^\{/);
    for (const [i, answer] of answers.entries()) expect([NAMES[i], answer]).toEqual([NAMES[i], first]);
  });
});
