import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { UpstreamStats } from "../../src/index.ts";
import { readEvents } from "../fixtures/event-reader.ts";
import { type GatewayProcess, startGateway } from "../fixtures/gateway-process.ts";
import { rawRequest } from "../fixtures/raw-http.ts";
import { type SandboxPool, startPool } from "../fixtures/sandbox-pool.ts";

interface Opened {
  readonly pool: SandboxPool;
  readonly gateway: GatewayProcess;
  /** A second gateway on the state that the first one left. */
  readonly reopen: () => Promise<GatewayProcess>;
}

/** `latencyMs` each way: long enough that calls are in flight when the signal comes. */
async function open(keys: number, latencyMs: number): Promise<Opened> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-shutdown-"));
  const pool = await startPool(keys, { latency: () => latencyMs });
  const running: GatewayProcess[] = [];
  onTestFinished(async () => {
    await Promise.all(running.map((gateway) => gateway.kill()));
    await pool.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const start = async (): Promise<GatewayProcess> => {
    const gateway = await startGateway({ ...pool.env, SLUICE_STATE: join(folder, "state.db") });
    running.push(gateway);
    return gateway;
  };
  return { pool, gateway: await start(), reopen: start };
}

async function statsOf({ url }: GatewayProcess): Promise<UpstreamStats> {
  const { upstreams } = (await (await fetch(`${url}/-/stats`)).json()) as { upstreams: readonly [UpstreamStats] };
  return upstreams[0];
}

function call({ url }: GatewayProcess, place: number): Promise<Response> {
  const address = `0x${place.toString(16).padStart(40, "0")}`;
  return fetch(`${url}/etherscan/v2/api?chainid=1&module=account&action=balance&address=${address}`);
}

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  test(`${signal} in mid-load: what is in flight is answered, what waits is refused in words`, async () => {
    const { pool, gateway, reopen } = await open(3, 300);
    const answers = Promise.all(
      Array.from({ length: 20 }, async (_, place) => {
        const answer = await call(gateway, place + 1);
        return { status: answer.status, headers: answer.headers, body: (await answer.json()) as { result: string } };
      }),
    );
    await expect.poll(() => pool.sandbox.counts().total.received).toBeGreaterThan(0);
    expect((await statsOf(gateway)).queued).toBeGreaterThan(0);
    const from = performance.now();
    gateway.signal(signal);
    const all = await answers;
    expect(await gateway.exited).toEqual({ code: 0, signal: null });
    // The last answer was on its way for 600 ms; nobody waits for a keep-alive to end.
    expect(performance.now() - from).toBeLessThan(1_500);

    const served = all.filter(({ status }) => status === 200);
    const refused = all.filter(({ status }) => status === 503);
    expect(served.length).toBeGreaterThan(0);
    expect(refused.length).toBeGreaterThan(0);
    expect(served.length + refused.length).toBe(20);
    expect(served.length).toBe(pool.sandbox.counts().total.ok);
    for (const { body, headers } of refused) {
      expect(body).toEqual({ status: "0", message: "NOTOK", result: "The gateway is shutting down." });
      expect(headers.get("connection")).toBe("close");
    }
    await expect(fetch(`${gateway.url}/-/health`)).rejects.toThrow();

    // Every slot that no call used is back on its bucket's timeline, and off its day's count.
    const { targets, slots } = await statsOf(await reopen());
    expect(slots).toBe(0);
    expect(targets.map(({ today }) => today)).toEqual(pool.sandbox.counts().keys.map(({ received }) => received));
    expect(targets.map(({ ok }) => ok)).toEqual(pool.sandbox.counts().keys.map(({ ok }) => ok));
  });
}

test("slots in hand go back when nothing is in flight that would bring them along", async () => {
  const { pool, gateway, reopen } = await open(2, 0);
  const answers = Array.from({ length: 10 }, async (_, place) => (await call(gateway, place + 1)).status);
  await expect.poll(() => pool.sandbox.counts().total.ok).toBeGreaterThan(1);
  const { slots, queued } = await statsOf(gateway);
  expect(slots).toBeGreaterThan(0);
  expect(queued).toBeGreaterThan(0);
  gateway.signal("SIGTERM");
  expect((await Promise.all(answers)).filter((status) => status === 503).length).toBeGreaterThan(0);
  expect(await gateway.exited).toEqual({ code: 0, signal: null });
  const { targets } = await statsOf(await reopen());
  expect(targets.map(({ today }) => today)).toEqual(pool.sandbox.counts().keys.map(({ received }) => received));
});

test("a second signal cuts nothing short", async () => {
  const { pool, gateway } = await open(1, 400);
  const answer = call(gateway, 1);
  await expect.poll(() => pool.sandbox.counts().total.received).toBe(1);
  gateway.signal("SIGTERM");
  await sleep(50);
  gateway.signal("SIGTERM");
  gateway.signal("SIGINT");
  expect((await answer).status).toBe(200);
  expect(await gateway.exited).toEqual({ code: 0, signal: null });
});

test("event streams end, and silent connections hold up nobody", async () => {
  const { gateway } = await open(1, 0);
  const events = readEvents(await fetch(`${gateway.url}/-/events`));
  const { hostname, port } = new URL(gateway.url);
  const silent = connect(Number(port), hostname);
  const idle = connect(Number(port), hostname);
  idle.write(rawRequest("/-/health", { Connection: "keep-alive" }));
  await new Promise((resolve) => idle.once("data", resolve));
  for (const socket of [silent, idle]) socket.on("error", () => undefined);
  const from = performance.now();
  gateway.signal("SIGTERM");
  await events.ended();
  expect(await gateway.exited).toEqual({ code: 0, signal: null });
  expect(performance.now() - from).toBeLessThan(1_500);
});
