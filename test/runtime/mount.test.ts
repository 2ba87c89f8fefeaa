import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { unstable_readConfig } from "wrangler";
import { deploy, type WorkerConfig } from "../fixtures/cloudflare-example.ts";
import { type InstalledExamples, installExamples, startProgram } from "../fixtures/installed-example.ts";
import { runTool } from "../fixtures/packed-package.ts";
import { type SandboxPool, startPool } from "../fixtures/sandbox-pool.ts";
import { registerSecrets } from "../fixtures/secret-sink.ts";

const CALLER = "mount-caller-0a1b2c3d4e5f6a7b";
const OPERATOR = "mount-operator-0a1b2c3d4e5f6a7b";
registerSecrets(CALLER, OPERATOR);

const ADDRESS = `0x${"7".repeat(40)}`;
const QUERY = `chainid=1&module=account&action=balance&address=${ADDRESS}`;
const WITH_TOKEN = { authorization: `Bearer ${CALLER}` };

/** How each runtime's user starts `main.ts`; workerd has `worker.ts`. */
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  Node: ["node", "main.ts"],
  Deno: ["deno", "run", "--allow-net", "--allow-env", "--allow-read", "--allow-write", "main.ts"],
  Bun: ["bun", "main.ts"],
};
const RUNTIMES = [...Object.keys(COMMANDS), "workerd"];

let examples: InstalledExamples;
beforeAll(async () => {
  examples = await installExamples("hono-mount", "itty-mount");
}, 60_000);
afterAll(() => examples?.remove());

interface Running {
  readonly url: string;
  stop(): Promise<number | null>;
}

async function start(example: string, runtime: string, env: Readonly<Record<string, string>>): Promise<Running> {
  const command = COMMANDS[runtime];
  const folder = examples.folderOf(example);
  if (command !== undefined) return startProgram(command, folder, { ...env, SLUICE_STATE: `.sluice/${runtime}.db` });
  await runTool("wrangler", ["deploy", "--dry-run", "--outdir", "out"], folder);
  const script = readFileSync(join(folder, "out", "worker.js"), "utf8");
  const config = unstable_readConfig({ config: join(folder, "wrangler.jsonc") }) as WorkerConfig;
  const worker = await deploy({ script, config, env });
  return { url: worker.urls[0] ?? "", stop: () => worker.stop().then(() => 0) };
}

describe.each(["hono-mount", "itty-mount"])("examples/%s", (example) => {
  describe.each(RUNTIMES)("on %s", (runtime) => {
    let pool: SandboxPool;
    let running: Running;
    beforeAll(async () => {
      pool = await startPool(3);
      running = await start(example, runtime, { ...pool.env, SLUICE_TOKENS: CALLER, SLUICE_ADMIN_TOKEN: OPERATOR });
    }, 60_000);
    afterAll(async () => {
      await running?.stop();
      await pool?.close();
    });

    const ask = (path: string, init: RequestInit = { headers: WITH_TOKEN }): Promise<Response> =>
      fetch(running.url + path, init);

    test("drop-in calls are answered below the prefix", async () => {
      const post = { method: "POST", headers: WITH_TOKEN, body: new URLSearchParams(QUERY.slice("chainid=1&".length)) };
      const calls: readonly Promise<Response>[] = [
        ask(`/upstream/etherscan/v2/api?${QUERY}`),
        ask(`/upstream/etherscan/v2/api?${QUERY}&apikey=${CALLER}`, {}),
        ask(`/upstream/etherscan/v2/api?chainid=1`, post),
        ask(`/upstream/etherscan/api?${QUERY.slice("chainid=1&".length)}`),
        ...Array.from({ length: 16 }, () => ask(`/upstream/etherscan/v2/api?${QUERY}`)),
      ];
      for (const call of calls) {
        const answer = await call;
        expect(answer.status).toBe(200);
        expect(answer.headers.get("x-request-id")).toMatch(/./);
        expect(await answer.json()).toMatchObject({ status: "1", message: "OK" });
      }
      expect(pool.sandbox.counts().total).toMatchObject({ received: calls.length, refused: 0 });
    });

    test.each([
      ["a caller without a token", `/etherscan/v2/api?${QUERY}`, {}, 401, /token/i],
      ["a call without its action", "/etherscan/v2/api?module=account", { headers: WITH_TOKEN }, 400, /^action: not/],
      ["a wrong path", "/etherscan/v3/api", { headers: WITH_TOKEN }, 404, /^etherscan has no such route/],
      ["a wrong method", "/etherscan/v2/api", { method: "PUT", headers: WITH_TOKEN }, 405, /GET, POST/],
    ])("%s is told so in the explorer's form", async (_what, path, init, status, words) => {
      const answer = await ask(`/upstream${path}`, init);
      expect([answer.status, answer.headers.get("content-type")]).toEqual([status, "application/json"]);
      const told = (await answer.json()) as { result: string };
      expect(told).toEqual({ status: "0", message: "NOTOK", result: expect.stringMatching(words) as string });
    });

    test("what belongs to no upstream is a problem document below the prefix", async () => {
      expect((await ask("/upstream/-/health", {})).status).toBe(200);
      expect((await ask("/upstream/-/stats")).status).toBe(401);
      const stats = await ask("/upstream/-/stats", { headers: { authorization: `Bearer ${OPERATOR}` } });
      expect(await stats.json()).toMatchObject({ upstreams: [{ calls: { failed: 0 } }] });
      const lost = await ask("/upstream/nowhere");
      expect([lost.status, lost.headers.get("content-type")]).toEqual([404, "application/problem+json"]);
    });

    test("outside of the prefix there is no gateway", async () => {
      for (const path of [`/etherscan/v2/api?${QUERY}`, "/-/health", "/-/stats", "/upstreams/-/health"]) {
        const answer = await ask(path);
        expect([path, answer.status]).toEqual([path, 404]);
        expect(answer.headers.get("content-type")).not.toContain("problem");
        expect(answer.headers.get("x-request-id")).toBeNull();
      }
    });

    test("the application's own routes are untouched, and call in process", async () => {
      const page = await ask("/", {});
      expect([page.status, await page.text()]).toEqual([200, "the application's own page"]);
      expect(page.headers.get("x-request-id")).toBeNull();
      const balance = await ask(`/balance/${ADDRESS}`, {});
      expect(balance.status).toBe(200);
      expect(await balance.json()).toMatchObject({
        status: "1",
        message: "OK",
        result: expect.stringMatching(/^\d+$/) as string,
      });
    });

    test("ends on SIGTERM", async () => {
      expect(await running.stop()).toBe(0);
    });
  });
});
