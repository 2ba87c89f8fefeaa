import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { UpstreamStats } from "../../src/index.ts";
import { installBunExample, type BunExample } from "../fixtures/bun-example.ts";
import type { ServedProcess } from "../fixtures/served-process.ts";
import { type SandboxPool, startPool } from "../fixtures/sandbox-pool.ts";
import { registerSecrets } from "../fixtures/secret-sink.ts";

const CALLER = "bun-example-caller-0a1b2c3d4e5f";
const OPERATOR = "bun-example-operator-0a1b2c3d4e5f";
registerSecrets(CALLER, OPERATOR);

const EXAMPLES = resolve(import.meta.dirname, "../../examples");
const BALANCE = `/etherscan/v2/api?chainid=1&module=account&action=balance&address=0x${"5".repeat(40)}`;

/** Each test goes on where the one before it stopped, as a deployment's life does. */
describe("examples/bun", () => {
  let example: BunExample;
  let pool: SandboxPool;
  let served: ServedProcess;
  let env: Readonly<Record<string, string>>;
  beforeAll(async () => {
    example = await installBunExample();
    // The part of a second that it does not count covers what a busy machine adds to the jitter.
    pool = await startPool(9, { counting: "sliding", windowMs: 800, latency: () => 20 });
    env = { ...pool.env, SLUICE_TOKENS: CALLER, SLUICE_ADMIN_TOKEN: OPERATOR };
    served = await example.start(env);
  }, 60_000);
  afterAll(async () => {
    await served?.stop();
    await pool?.close();
    example?.remove();
  });

  const ask = (path: string, { token = CALLER, method = "GET", url = served.url } = {}): Promise<Response> =>
    fetch(url + path, { method, headers: token === "" ? {} : { authorization: `Bearer ${token}` } });
  const stats = async (): Promise<UpstreamStats> => {
    const { upstreams } = (await (await ask("/-/stats", { token: OPERATOR })).json()) as { upstreams: [UpstreamStats] };
    return upstreams[0];
  };

  test("has the configuration file of the other platforms, byte for byte", () => {
    const [here, there] = ["bun", "cloudflare"].map((name) => readFileSync(join(EXAMPLES, name, "sluice.config.ts")));
    expect(here).toEqual(there);
  });

  test("starts without a warning, and says what it serves", async () => {
    expect((await ask("/-/health", { token: "" })).status).toBe(200);
    expect(served.output).toContain("sluice: etherscan: 9 targets in 9 buckets, up to 27 calls/s");
    expect(served.output).not.toMatch(/warn|cron/i);
  });

  test("serves thirty calls at once, no key over its ceiling", async () => {
    const answers = await Promise.all(
      Array.from({ length: 30 }, async () => {
        const answer = await ask(BALANCE);
        return [answer.status, ((await answer.json()) as { status: string }).status];
      }),
    );
    expect(answers).toEqual(Array.from({ length: 30 }, () => [200, "1"]));
    const { total, accounts } = pool.sandbox.counts();
    expect(total).toMatchObject({ received: 30, ok: 30, refused: 0 });
    for (const { maxSliding } of Object.values(accounts)) expect(maxSliding).toBeLessThanOrEqual(3);
  });

  test("lets nobody in without a token, and only the operator to /-/stats", async () => {
    expect((await ask(BALANCE, { token: "" })).status).toBe(401);
    expect((await ask("/-/stats")).status).toBe(401);
    expect((await stats()).calls).toMatchObject({ ok: 30, failed: 0 });
  });

  test("ends at once on SIGTERM, and knows after a restart what it knew before", async () => {
    const id = (await stats()).targets[4]?.id;
    const order = await ask(`/-/admin/targets/etherscan/${id}/disable`, { token: OPERATOR, method: "POST" });
    expect(order.status).toBe(200);
    expect(await served.stop()).toEqual({ code: 0, signal: null });

    pool.sandbox.resetCounts();
    served = await example.start(env);
    const answers = await Promise.all(Array.from({ length: 18 }, () => ask(BALANCE)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect((await stats()).targets[4]).toMatchObject({ id, state: "disabled", why: "operator" });
    const { total, keys } = pool.sandbox.counts();
    expect([total.ok, total.refused, keys[4]?.received]).toEqual([18, 0, 0]);
  });

  test("shares the pool with a second process on the same file", async () => {
    const other = await example.start(env);
    pool.sandbox.resetCounts();
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) => ask(BALANCE, { url: i % 2 === 0 ? served.url : other.url })),
    );
    expect(await other.stop()).toEqual({ code: 0, signal: null });
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const { total, accounts } = pool.sandbox.counts();
    expect([total.ok, total.refused]).toEqual([40, 0]);
    for (const { maxSliding } of Object.values(accounts)) expect(maxSliding).toBeLessThanOrEqual(3);
  });
});
