import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { bearer, CALLER_TOKEN, GUARDED, problemOf } from "../contract/gateway-client.ts";
import { serveOnDeno } from "../fixtures/deno-serve.ts";
import type { ServedProcess } from "../fixtures/served-process.ts";
import type { Environment } from "../fixtures/gateway-process.ts";
import { registerSecrets } from "../fixtures/secret-sink.ts";

const KEY = "BADINPUTBADINPUTBADINPUTBADINPUT01";
registerSecrets(KEY);

let folder: string;
let state: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-deno-bad-"));
  state = join(folder, "kv.db");
});
afterEach(() => rmSync(folder, { recursive: true }));

async function serve(
  more: { flags?: readonly string[]; env?: Environment; state?: string } = {},
): Promise<ServedProcess> {
  const env = { ETHERSCAN_KEYS: KEY, ETHERSCAN_BASE_URLS: "http://127.0.0.1:9/api", ...more.env };
  const served = await serveOnDeno({ state, ...more, env });
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

const flags = (...left: readonly string[]): readonly string[] => {
  const place = dirname(state);
  return [
    "--unstable-kv",
    "--unstable-cron",
    "--allow-net",
    "--allow-env",
    `--allow-read=${place}`,
    `--allow-write=${place}`,
  ].filter((flag) => !left.some((name) => flag.startsWith(name)));
};

describe("deno serve, started wrongly, says what to add", () => {
  test("without --unstable-kv", async () => {
    const served = await serve({ flags: flags("--unstable-kv") });
    expect(await refusalOf(served)).toMatch(
      /start with --unstable-kv, or add "unstable": \["kv", "cron"\] to deno\.json/,
    );
  });

  test("without --unstable-cron it serves, with a warning", async () => {
    const served = await serve({ flags: flags("--unstable-cron") });
    expect((await fetch(`${served.url}/-/health`)).status).toBe(200);
    expect(served.events("config_warning")).toMatchObject([
      { detail: expect.stringContaining("--unstable-cron") as string },
    ]);
  });

  test.each([
    ["--allow-env", /start with --allow-env/],
    ["--allow-net", /start with --allow-net=127\.0\.0\.1:9 \(or --allow-net\)/],
    ["--allow-read", /kv\.db may not be used; start with --allow-read=\S+kv\.db\.$/],
    ["--allow-write", /kv\.db may not be used; start with --allow-write=\S+kv\.db\.$/],
  ])("without %s", async (flag, words) => {
    expect(await refusalOf(await serve({ flags: flags(flag) }))).toMatch(words);
  });

  test("with permissions for just what it needs it serves", async () => {
    const few = [...flags("--allow-net", "--allow-read", "--allow-write"), "--allow-net=127.0.0.1:9"];
    const served = await serve({ flags: [...few, `--allow-read=${state}`, `--allow-write=${state}`] });
    expect((await fetch(`${served.url}/-/ready`)).status).toBeLessThan(504);
    expect(served.output).not.toMatch(/may not be/);
  });
});

describe("a state that cannot be used", () => {
  test("a file that is no database", async () => {
    writeFileSync(state, "a text, and a long one at that: ".repeat(100));
    expect(await refusalOf(await serve())).toMatch(
      /SLUICE_STATE: .*kv\.db cannot be used \(file is not a database\); name a writable path, or move the file away/,
    );
  });

  test("a folder", async () => {
    mkdirSync(state);
    expect(await refusalOf(await serve())).toMatch(
      /cannot be used \(unable to open database file.*name a writable path/,
    );
  });

  test("a place where nothing can be written", async () => {
    const path = "/proc/sluice/kv.db";
    expect(
      await refusalOf(
        await serve({
          state: path,
          flags: [...flags("--allow-read", "--allow-write"), "--allow-read", "--allow-write"],
        }),
      ),
    ).toMatch(/SLUICE_STATE: .*\/proc\/sluice\/kv\.db cannot be used .*name a writable path/);
  });

  test("a file that another program holds", async () => {
    const holder = new DatabaseSync(state);
    holder.exec("CREATE TABLE t (a); BEGIN EXCLUSIVE");
    onTestFinished(() => holder.close());
    expect(await refusalOf(await serve())).toMatch(
      /\(database is locked\); end the other program that holds it, or name another path/,
    );
  });
});

describe("a configuration that cannot be", () => {
  test("names the variable, never the value", async () => {
    const served = await serve({ env: { UPSTREAM_TIMEOUT: "soon" } });
    expect(await refusalOf(served)).toMatch(/^UPSTREAM_TIMEOUT: "soon" is no whole number/);
  });

  test("without callers' tokens only this machine is served; with them who shows one", async () => {
    const served = await serve({ env: { ...GUARDED } });
    const path = `${served.url}/etherscan/v2/api?chainid=1&module=stats&action=ethprice`;
    expect((await fetch(path)).status).toBe(401);
    expect((await fetch(path, { headers: bearer(CALLER_TOKEN) })).status).not.toBe(401);
  });
});
