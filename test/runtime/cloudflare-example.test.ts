import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { UpstreamStats } from "../../src/index.ts";
import { type BuiltExample, buildExample, deploy, type Deployed } from "../fixtures/cloudflare-example.ts";
import { type SandboxPool, startPool } from "../fixtures/sandbox-pool.ts";
import { registerSecrets } from "../fixtures/secret-sink.ts";

const CALLER = "example-caller-0a1b2c3d4e5f";
const OPERATOR = "example-operator-0a1b2c3d4e5f";
registerSecrets(CALLER, OPERATOR);

const BALANCE = `/etherscan/v2/api?chainid=1&module=account&action=balance&address=0x${"4".repeat(40)}`;

/** Each test goes on where the one before it stopped, as a deployment's life does. */
describe("examples/cloudflare", () => {
  let built: BuiltExample;
  let pool: SandboxPool;
  let worker: Deployed;
  beforeAll(async () => {
    built = await buildExample();
    // The part of a second that it does not count covers what a busy machine adds to the jitter; two isolates that did
    // not know of each other would send twice as many within it.
    pool = await startPool(9, { counting: "sliding", windowMs: 800 });
    const env = { ...pool.env, SLUICE_TOKENS: CALLER, SLUICE_ADMIN_TOKEN: OPERATOR };
    worker = await deploy({ ...built, env, isolates: 2 });
  }, 60_000);
  afterAll(async () => {
    await worker?.stop();
    await pool?.close();
  });

  const ask = (path: string, { isolate = 0, token = CALLER, method = "GET" } = {}): Promise<Response> =>
    fetch(`${worker.urls[isolate]}${path}`, {
      method,
      headers: token === "" ? {} : { authorization: `Bearer ${token}` },
    });
  const stats = async (isolate = 0): Promise<UpstreamStats> => {
    const answer = await ask("/-/stats", { token: OPERATOR, isolate });
    const { upstreams } = (await answer.json()) as { upstreams: [UpstreamStats] };
    return upstreams[0];
  };

  test("is what wrangler would upload", () => {
    expect(built.printed).toMatch(/env\.SLUICE_LEDGER \(SluiceLedger\)\s+Durable Object/);
    expect(built.printed).toMatch(/env\.SLUICE_KV\s+KV Namespace/);
    expect(built.printed).not.toMatch(/warning/i);
    expect(built.config.triggers.crons).toHaveLength(1);
  });

  test("serves thirty calls at once through two isolates, no key over its ceiling", async () => {
    const answers = await Promise.all(
      Array.from({ length: 30 }, async (_, i) => {
        const answer = await ask(BALANCE, { isolate: i % 2 });
        return [answer.status, ((await answer.json()) as { status: string }).status];
      }),
    );
    expect(answers).toEqual(Array.from({ length: 30 }, () => [200, "1"]));
    const { total, accounts } = pool.sandbox.counts();
    expect(total).toMatchObject({ received: 30, ok: 30, refused: 0 });
    for (const { maxSliding } of Object.values(accounts)) expect(maxSliding).toBeLessThanOrEqual(3);
    expect(await Promise.all([stats(0), stats(1)])).toMatchObject([
      { calls: { ok: 15, failed: 0 } },
      { calls: { ok: 15, failed: 0 } },
    ]);
    expect(worker.events("config_warning")).toEqual([]);
  });

  test("lets nobody in without a token, and only the operator to /-/stats", async () => {
    const refused = await ask(BALANCE, { token: "" });
    expect(refused.status).toBe(401);
    expect(await refused.json()).toMatchObject({ status: "0", message: "NOTOK" });
    expect((await ask("/-/stats")).status).toBe(401);
    const { targets, missing } = await stats();
    expect([targets.length, missing]).toEqual([9, null]);
    expect((await ask("/-/health", { token: "" })).status).toBe(200);
  });

  test("does its scheduled work and says so in the log", async () => {
    await worker.runCron();
    expect(worker.events("job_ended")).toMatchObject([{ job: "sweep", ok: true, detail: "0 rows forgotten" }]);
  });

  test("knows after a restart what it knew before", async () => {
    const id = (await stats()).targets[4]?.id;
    const order = await ask(`/-/admin/targets/etherscan/${id}/disable`, { token: OPERATOR, method: "POST" });
    expect(order.status).toBe(200);
    pool.sandbox.resetCounts();
    await worker.restart();
    const answers = await Promise.all(Array.from({ length: 18 }, (_, i) => ask(BALANCE, { isolate: i % 2 })));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    for (const isolate of [0, 1]) {
      expect((await stats(isolate)).targets[4]).toMatchObject({ id, state: "disabled", why: "operator" });
    }
    const { total, keys } = pool.sandbox.counts();
    expect([total.ok, total.refused, keys[4]?.received]).toEqual([18, 0, 0]);
  });
});
