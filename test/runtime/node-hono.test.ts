import { Hono } from "hono";
import { serve as serveWithSrvx } from "srvx";
import { describe, expect, onTestFinished, test } from "vitest";
import { sluiceMiddleware } from "../../adapters/hono/index.ts";
import { nodePlatform, sqliteLedger } from "../../adapters/node/index.ts";
import { createSluice, etherscan, type Sluice, type SluiceConfig } from "../../src/index.ts";
import { type SandboxPool, startPool } from "../fixtures/sandbox-pool.ts";
import { registerSecrets } from "../fixtures/secret-sink.ts";

type Upstreams = { readonly etherscan: ReturnType<typeof etherscan> };

const TOKEN = "hono-caller-0123456789abcdef";
registerSecrets(TOKEN);
const BALANCE = `/etherscan/v2/api?chainid=1&module=account&action=balance&address=0x${"5".repeat(40)}`;

async function open(
  more: Omit<SluiceConfig<Upstreams>, "upstreams"> = {},
): Promise<{ sluice: Sluice<Upstreams>; pool: SandboxPool }> {
  const pool = await startPool(2);
  const ledger = sqliteLedger({ path: ":memory:" });
  const sluice = createSluice(
    { upstreams: { etherscan: etherscan({ keys: pool.secrets, baseUrls: `${pool.url}/v2/api` }) }, ...more },
    nodePlatform({ ledger, events: { emit: () => undefined }, report: console.error }),
  );
  onTestFinished(async () => {
    await sluice.close();
    await ledger.close?.();
    await pool.close();
  });
  return { sluice, pool };
}

/** Hono behind a real server, as an application would run it. */
async function listen(app: Hono): Promise<string> {
  const server = serveWithSrvx({
    fetch: app.fetch,
    hostname: "127.0.0.1",
    port: 0,
    silent: true,
    gracefulShutdown: false,
  });
  await server.ready();
  onTestFinished(() => server.close(true));
  return (server.url ?? "").replace(/\/$/, "");
}

describe("mounted in Hono", () => {
  test("is closed until it is said who may call", async () => {
    const { sluice, pool } = await open();
    const app = new Hono().mount("/upstream", sluice.fetch);
    for (const answer of [
      await app.request(`/upstream${BALANCE}`),
      await fetch(`${await listen(app)}/upstream${BALANCE}`),
    ]) {
      expect(answer.status).toBe(503);
      const { result } = (await answer.json()) as { result: string };
      expect(result).toMatch(/Set SLUICE_TOKENS .* or write `callers: "public"`/);
    }
    expect((await app.request("/upstream/-/stats")).status).toBe(401);
    expect((await app.request("/upstream/-/health")).status).toBe(200);
    expect(pool.sandbox.counts().total.received).toBe(0);
  });

  test('with callers "public" the application\'s own authentication decides', async () => {
    const { sluice } = await open({ callers: "public" });
    const app = new Hono()
      .use("/upstream/*", async (c, next) => (c.req.header("x-user") === "ada" ? next() : c.text("who?", 401)))
      .mount("/upstream", sluice.fetch);
    const url = await listen(app);
    expect((await fetch(`${url}/upstream${BALANCE}`)).status).toBe(401);
    const answer = await fetch(`${url}/upstream${BALANCE}`, { headers: { "x-user": "ada" } });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ status: "1", message: "OK" });
    expect((await fetch(`${url}/upstream/-/stats`, { headers: { "x-user": "ada" } })).status).toBe(401);
    const lost = await fetch(`${url}/upstream/nowhere`, { headers: { "x-user": "ada" } });
    expect([lost.status, lost.headers.get("content-type")]).toEqual([404, "application/problem+json"]);
  });

  test("with tokens it asks for one", async () => {
    const { sluice } = await open({ callers: { tokens: TOKEN } });
    const app = new Hono().mount("/upstream", sluice.fetch);
    const body = new URLSearchParams(BALANCE.split("?")[1]);
    const post = (headers: Readonly<Record<string, string>>) =>
      app.request("/upstream/etherscan/v2/api", { method: "POST", body, headers });
    expect((await post({})).status).toBe(401);
    expect((await post({ authorization: `Bearer ${TOKEN}` })).status).toBe(200);
  });

  test("a mount that keeps its prefix has it as the base path", async () => {
    const { sluice } = await open({ callers: "public", basePath: "/upstream" });
    const app = new Hono().all("/upstream/*", (c) => sluice.fetch(c.req.raw));
    expect((await app.request(`/upstream${BALANCE}`)).status).toBe(200);
  });

  test("a client that leaves a mounted gateway is gone for the upstream too", async () => {
    const { sluice, pool } = await open({ callers: "public" });
    const url = await listen(new Hono().mount("/upstream", sluice.fetch));
    for (const position of [1, 2]) pool.change(position, { fault: () => "slow" });
    const leaving = new AbortController();
    const answer = fetch(`${url}/upstream${BALANCE}`, { signal: leaving.signal });
    await expect.poll(() => sluice.stats()[0]?.inFlight).toBe(1);
    await expect.poll(() => pool.sandbox.counts().total.received).toBe(1);
    leaving.abort();
    await expect(answer).rejects.toThrow(/abort/i);
    await expect.poll(() => sluice.stats()[0]?.inFlight).toBe(0);
  });
});

test("the middleware gives handlers the gateway in process", async () => {
  const { sluice, pool } = await open();
  const app = new Hono()
    .use(sluiceMiddleware(sluice))
    .get("/balance/:address", async (c) =>
      c.json(
        (await c.var.sluice
          .upstream("etherscan")
          .call("account", "balance", { address: c.req.param("address") })) as object,
      ),
    );
  const url = await listen(app as unknown as Hono);
  const answer = await fetch(`${url}/balance/0x${"6".repeat(40)}`);
  expect(answer.status).toBe(200);
  expect(await answer.text()).toMatch(/^\{"status":"1","message":"OK","result":"\d+"\}$/);
  expect(pool.sandbox.counts().total.ok).toBe(1);
});
