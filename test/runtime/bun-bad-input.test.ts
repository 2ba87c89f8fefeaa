import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { serveOn } from "../../adapters/bun/bun.ts";
import type { BunRuntime } from "../../adapters/bun/runtime.ts";
import { configFromEnv } from "../../src/index.ts";
import { bearer, CALLER_TOKEN, GUARDED, problemOf } from "../contract/gateway-client.ts";
import { serveOnBun } from "../fixtures/bun-serve.ts";
import { NeverListened, type ServedProcess } from "../fixtures/served-process.ts";
import type { Environment } from "../fixtures/gateway-process.ts";
import { registerSecrets } from "../fixtures/secret-sink.ts";

const KEY = "BADINPUTBADINPUTBADINPUTBADINPUT01";
const PASSWORD = "bun-redis-password-0a1b2c3d";
registerSecrets(KEY, PASSWORD);

const BASE = { ETHERSCAN_KEYS: KEY, ETHERSCAN_BASE_URLS: "http://127.0.0.1:9/api" };
const PRICE = "/etherscan/v2/api?chainid=1&module=stats&action=ethprice";

let folder: string;
let state: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-bun-bad-"));
  state = join(folder, "state.db");
});
afterEach(() => rmSync(folder, { recursive: true }));

async function serve(env: Environment = {}): Promise<ServedProcess> {
  const served = await serveOnBun({ ...BASE, ...env });
  onTestFinished(async () => void (await served.stop()));
  return served;
}

/** What is printed at the start and answered to everybody, which must be the same. */
async function refusalOf(served: ServedProcess): Promise<string> {
  const answer = await fetch(`${served.url}/-/health`);
  expect(answer.status).toBe(500);
  const { detail, code } = await problemOf(answer);
  expect(code).toBe("config_invalid");
  await expect.poll(() => served.output).toContain(`sluice: ${detail}`);
  return detail;
}

describe("a state that cannot be used", () => {
  const refused = async (path = state): Promise<string> => refusalOf(await serve({ SLUICE_STATE: path }));

  test("a file that is no database", async () => {
    writeFileSync(state, "a text, and a long one at that: ".repeat(100));
    expect(await refused()).toMatch(
      /SLUICE_STATE: .*state\.db cannot be used \(file is not a database\); name a writable path, or move the file away/,
    );
  });

  test("a folder", async () => {
    mkdirSync(state);
    expect(await refused()).toMatch(/cannot be used \(unable to open database file\); name a writable path/);
  });

  test("a place where nothing can be written", async () => {
    expect(await refused("/proc/sluice/state.db")).toMatch(
      /SLUICE_STATE: .*\/proc\/sluice\/state\.db cannot be used .*name a writable path/,
    );
  });

  test("a file that another program holds", async () => {
    const holder = new DatabaseSync(state);
    holder.exec("CREATE TABLE t (a); BEGIN EXCLUSIVE");
    onTestFinished(() => holder.close());
    expect(await refused()).toMatch(
      /\(database is locked\); end the other program that holds it, or name another path/,
    );
  });
});

describe("a Redis that cannot be used", () => {
  test.each(["http://127.0.0.1:6379", `redis:/${PASSWORD}`, "redis://[::1"])("%s", async (url) => {
    expect(await refusalOf(await serve({ REDIS_URL: url }))).toBe(
      "REDIS_URL: is no address of a Redis server; it begins with redis: (rediss: for TLS), as redis://127.0.0.1:6379 does.",
    );
  });

  test("beside a state file", async () => {
    const served = await serve({ REDIS_URL: "redis://127.0.0.1:6379", SLUICE_STATE: state });
    expect(await refusalOf(served)).toBe("SLUICE_STATE, REDIS_URL: one of them holds the ledger; unset the other.");
  });

  test("one that nobody serves, and one that is none, are told, and the gateway goes on", async () => {
    const silent = createServer();
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void silent.close());
    const { port } = silent.address() as { port: number };
    for (const url of [`redis://:${PASSWORD}@127.0.0.1:9`, `redis://:${PASSWORD}@127.0.0.1:${port}`]) {
      const served = await serve({ REDIS_URL: url });
      await expect
        .poll(() => served.output, { timeout: 3_000 })
        .toMatch(/sluice: REDIS_URL: Redis cannot be reached \(.*\); check the host, port, user and password\./);
      expect((await fetch(`${served.url}/-/health`)).status).toBe(200);
      expect(served.output).not.toContain(PASSWORD);
    }
  });
});

/** What is printed in this process is caught until the test ends. */
function silence() {
  const printed = vi.spyOn(console, "log").mockImplementation(() => {});
  onTestFinished(() => printed.mockRestore());
  return printed;
}

describe("a configuration that cannot be", () => {
  test("names the variable, never the value", async () => {
    expect(await refusalOf(await serve({ UPSTREAM_TIMEOUT: "soon" }))).toMatch(
      /^UPSTREAM_TIMEOUT: "soon" is no whole number/,
    );
  });

  test("a port that is none is said where a gateway is expected", async () => {
    silence();
    const { fetch: ask, port } = serveOn(bunOf("1.4.5"), configFromEnv, { env: { ...BASE, PORT: "http" } }, () => {});
    expect(port).toBe(8_787);
    expect((await problemOf(await ask(new Request("http://127.0.0.1/-/health")))).detail).toMatch(/^PORT: "http"/);
  });

  test("a port that is taken ends it, and names the port", async () => {
    const { port } = new URL((await serve()).url);
    const start = serveOnBun({ ...BASE, PORT: port });
    await expect(start).rejects.toThrow(NeverListened);
    await expect(start).rejects.toThrow(`Is port ${port} in use?`);
  });

  test("without callers' tokens only this machine is served; with them who shows one", async () => {
    const served = await serve({ ...GUARDED });
    expect((await fetch(served.url + PRICE)).status).toBe(401);
    expect((await fetch(served.url + PRICE, { headers: bearer(CALLER_TOKEN) })).status).not.toBe(401);
  });
});

function bunOf(version: string): BunRuntime {
  return { bun: { version }, process: { env: {}, stderr: {} } } as unknown as BunRuntime;
}

describe("a runtime that will not do", () => {
  const detailOn = async (runtime: BunRuntime | undefined): Promise<string> => {
    const printed = silence();
    const { fetch: ask } = serveOn(runtime, configFromEnv, { env: BASE }, () => {});
    const { detail } = await problemOf(await ask(new Request("http://127.0.0.1/-/health")));
    expect(printed.mock.calls).toEqual([[`sluice: ${detail}`]]);
    return detail;
  };

  test.each(["1.0.0", "1.2.22", "0.9.99"])("Bun %s", async (version) => {
    expect(await detailOn(bunOf(version))).toBe(
      `Bun ${version} is too old: bun:sqlite and Bun.RedisClient are what the ledger needs from 1.2.23 on; run "bun upgrade".`,
    );
  });

  test("no Bun at all", async () => {
    expect(await detailOn(undefined)).toBe("sluice/bun runs on Bun and nowhere else; Node's is sluice/node.");
  });
});
