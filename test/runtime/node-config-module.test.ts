import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type GatewayProcess, startGateway } from "../fixtures/gateway-process.ts";
import { type SandboxPool, startPool } from "../fixtures/sandbox-pool.ts";
import { registerSecrets } from "../fixtures/secret-sink.ts";

const ROOT = resolve(import.meta.dirname, "..", "..");
const TOKEN = "module-caller-0123456789";
registerSecrets(TOKEN);

/** README's module, with every part of a configuration that the environment has no variable for. */
const MODULE = `
import { defineSluice, etherscan } from "sluice";

export default defineSluice((env) => ({
  upstreams: {
    etherscan: etherscan({ keys: env.ETHERSCAN_KEYS, baseUrls: env.ETHERSCAN_BASE_URLS, maxQueue: 2, maxWaitMs: 1_500 }),
    clone: etherscan({ keys: env.CLONE_KEYS, baseUrls: env.CLONE_URL, strategy: "round_robin", dailyCap: null }),
  },
  callers: { tokens: env.SLUICE_TOKENS },
  cors: { origins: ["https://app.example"] },
  limits: { maxRequestBytes: 1_000 },
  basePath: "/upstream",
}));
`;

async function open(): Promise<{ gateway: GatewayProcess; pool: SandboxPool; clone: SandboxPool }> {
  // Inside the package, where \`sluice\` means this very package: as in a clone of the repository.
  mkdirSync(join(ROOT, ".sluice"), { recursive: true });
  const folder = mkdtempSync(join(ROOT, ".sluice", "test-config-"));
  writeFileSync(join(folder, "sluice.config.ts"), MODULE);
  const pool = await startPool(1);
  const clone = await startPool(1, { base: "blockscout" });
  const gateway = await startGateway(
    {
      ...pool.env,
      CLONE_KEYS: clone.env.ETHERSCAN_KEYS,
      CLONE_URL: `${clone.url}/api`,
      SLUICE_TOKENS: TOKEN,
      SLUICE_CONFIG: "sluice.config.ts",
    },
    { cwd: folder },
  );
  onTestFinished(async () => {
    await gateway.stop();
    await Promise.all([pool.close(), clone.close()]);
    rmSync(folder, { recursive: true, force: true });
  });
  return { gateway, pool, clone };
}

function ask({ url }: GatewayProcess, path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(`${url}${path}`, { headers: { authorization: `Bearer ${TOKEN}`, ...headers } });
}

const BALANCE = `module=account&action=balance&address=0x${"3".repeat(40)}`;

describe("SLUICE_CONFIG", () => {
  test("names its upstreams, its base path and its limits", async () => {
    const { gateway, pool, clone } = await open();
    expect(gateway.stderr).toBe(
      "etherscan: 1 targets in 1 buckets, up to 3 calls/s\nclone: 1 targets in 1 buckets, up to 3 calls/s\n",
    );
    const both = [
      await ask(gateway, `/upstream/etherscan/v2/api?chainid=1&${BALANCE}`),
      await ask(gateway, `/upstream/clone/api?${BALANCE}`),
    ];
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    expect(await both[0]?.text()).toMatch(/^\{"status":"1","message":"OK","result":/);
    // The clone's own order of members: its bytes, not ours.
    expect(await both[1]?.text()).toMatch(/^\{"message":"OK","result":/);
    expect([pool, clone].map(({ sandbox }) => sandbox.counts().total.ok)).toEqual([1, 1]);
    expect(clone.sandbox.requests[0]?.params).not.toHaveProperty("chainid");

    expect((await ask(gateway, `/etherscan/v2/api?${BALANCE}`)).status).toBe(404);
    const lost = (await (await ask(gateway, "/upstream/nowhere")).json()) as { routes: string[] };
    expect(lost.routes).toEqual(
      expect.arrayContaining(["GET|POST /upstream/clone/api", "GET|POST /upstream/etherscan/v2/api"]),
    );
    const large = await fetch(`${gateway.url}/upstream/clone/api`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}` },
      body: "x".repeat(1_001),
    });
    expect(large.status).toBe(413);
  });

  test("lets the pages in that it names", async () => {
    const { gateway } = await open();
    const page = await ask(gateway, "/upstream/-/health", { origin: "https://app.example" });
    expect(page.headers.get("access-control-allow-origin")).toBe("https://app.example");
    const preflight = await fetch(`${gateway.url}/upstream/etherscan/v2/api`, {
      method: "OPTIONS",
      headers: { origin: "https://app.example", "access-control-request-headers": "authorization" },
    });
    expect([preflight.status, preflight.headers.get("access-control-allow-headers")]).toEqual([204, "authorization"]);
    const stranger = await ask(gateway, "/upstream/-/health", { origin: "https://evil.example" });
    expect(stranger.headers.get("access-control-allow-origin")).toBeNull();
  });

  test("a full queue says when to come again", async () => {
    const { gateway, pool } = await open();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => ask(gateway, `/upstream/etherscan/v2/api?chainid=1&${BALANCE}`)),
    );
    const full = answers.filter(({ status }) => status === 429);
    const served = answers.filter(({ status }) => status === 200).length;
    // Two that wait, and the first one, unless its slot was not due when it came: then it was one of the two.
    expect([2, 3]).toContain(served);
    expect(full).toHaveLength(8 - served);
    expect(pool.sandbox.counts().total.received).toBe(served);
    for (const answer of full) {
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
      const { result } = (await answer.json()) as { result: string };
      expect(result).toBe("2 calls wait already; try again later or raise maxQueue.");
    }
  });
});
