import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { fingerprint } from "../../src/index.ts";
import {
  type Environment,
  type GatewayOptions,
  type GatewayProcess,
  refuseToStart,
  startGateway,
} from "../fixtures/gateway-process.ts";
import { sandboxKeys } from "../fixtures/sandbox-etherscan.ts";
import { registerSecrets } from "../fixtures/secret-sink.ts";

const KEYS = sandboxKeys(4, 77);
const [FIRST = "", SECOND = ""] = KEYS;
const HUSH = "hush-hush-0123456789";
registerSecrets(...KEYS, HUSH);

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-start-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function start(env: Environment = {}, options: GatewayOptions = {}): Promise<GatewayProcess> {
  const gateway = await startGateway(env, options);
  onTestFinished(async () => void (await gateway.stop()));
  return gateway;
}

/** The one line that a gateway with these settings leaves behind when it does not start. */
async function complaint(env: Environment): Promise<string> {
  const { code, stdout, stderr } = await refuseToStart(env);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/^sluice: [^\n]+\n$/);
  return stderr.trimEnd();
}

describe("npm start", () => {
  test("without settings: one line on stdout, what is missing on stderr", async () => {
    const folder = temporaryFolder();
    const gateway = await start({}, { cwd: folder });
    expect(gateway.stdout).toMatch(/^sluice listening on http:\/\/127\.0\.0\.1:\d+\n$/);
    expect(gateway.stderr).toBe("etherscan: not configured, set ETHERSCAN_KEYS\n");
    expect((await fetch(`${gateway.url}/-/health`)).status).toBe(200);
    expect(existsSync(join(folder, ".sluice", "state.db"))).toBe(true);
    expect(await gateway.stop()).toEqual({ code: 0, signal: null });
    expect(gateway.stdout.split("\n")).toHaveLength(2);
  });

  test("empty variables count as unset", async () => {
    const names = ["ETHERSCAN_KEYS", "ETHERSCAN_BASE_URLS", "ETHERSCAN_KEY_SLICE", "ETHERSCAN_KEY_GROUPS", "HOST"];
    const more = ["UPSTREAM_TIMEOUT", "SLUICE_TOKENS", "SLUICE_ADMIN_TOKEN", "SLUICE_STATE", "SLUICE_CONFIG"];
    const gateway = await start(Object.fromEntries([...names, ...more].map((name) => [name, ""])));
    expect(gateway.stderr).toBe("etherscan: not configured, set ETHERSCAN_KEYS\n");
  });

  test("says what is configured", async () => {
    const gateway = await start({ ETHERSCAN_KEYS: KEYS.join(","), ETHERSCAN_KEY_GROUPS: "1-2" });
    expect(gateway.stderr).toBe("etherscan: 4 targets in 3 buckets, up to 9 calls/s\n");
  });

  test("listens where HOST and PORT say", async () => {
    const port = await freePort();
    const gateway = await start({ HOST: "127.0.0.2", PORT: String(port) });
    expect(gateway.url).toBe(`http://127.0.0.2:${port}`);
    expect((await fetch(`${gateway.url}/-/health`)).status).toBe(200);
    await expect(fetch(`http://127.0.0.1:${port}/-/health`)).rejects.toThrow();
    const six = await start({ HOST: "::1" });
    expect(six.url).toMatch(/^http:\/\/\[::1\]:\d+$/);
    expect((await fetch(`${six.url}/-/stats`)).status).toBe(200);
  });

  test("PORT is 8787 by default", async () => {
    // Somebody may use it on this machine: then the gateway says so.
    const outcome = await start({ PORT: undefined }).then(
      (gateway) => gateway.url,
      (cause: Error) => cause.message,
    );
    expect(outcome).toMatch(/^http:\/\/127\.0\.0\.1:8787$|PORT: 127\.0\.0\.1:8787 is in use/);
  });

  test("SLUICE_STATE's folder is made", async () => {
    const path = join(temporaryFolder(), "deep", "er", "state.db");
    const gateway = await start({ SLUICE_STATE: path });
    expect(existsSync(path)).toBe(true);
    await gateway.stop();
  });

  test("a slice that selects nothing is warned of, and the whole pool used", async () => {
    const gateway = await start({ ETHERSCAN_KEYS: KEYS.join(","), ETHERSCAN_KEY_SLICE: "7-9" });
    expect(gateway.stderr).toContain(
      "etherscan config_warning detail=slice (ETHERSCAN_KEY_SLICE) selects none of the 4 keys, so all of them are used.",
    );
    expect(gateway.stderr).toContain("etherscan: 4 targets in 4 buckets");
  });

  test("a weak token is warned of by its fingerprint", async () => {
    const token = "frail-word";
    registerSecrets(token);
    const gateway = await start({ SLUICE_TOKENS: token });
    expect(gateway.stderr).toContain(`The token with fingerprint ${fingerprint(token)} is short enough to be guessed.`);
  });
});

describe("settings that cannot be, each refused in one line", () => {
  const pool = KEYS.join(",");
  test.each<[what: string, env: Environment, words: RegExp]>([
    [
      "duplicate keys",
      { ETHERSCAN_KEYS: `${FIRST},${SECOND},${FIRST}` },
      new RegExp(`keys\\[2\\] \\(ETHERSCAN_KEYS, fingerprint ${fingerprint(FIRST)}\\) is the same as keys\\[0\\]`),
    ],
    [
      "an empty key",
      { ETHERSCAN_KEYS: `${FIRST},,${SECOND}` },
      /keys\[1\] \(ETHERSCAN_KEYS\) is empty; remove the extra/,
    ],
    [
      "a key in quotes",
      { ETHERSCAN_KEYS: `"${FIRST}"` },
      /keys\[0\] \(ETHERSCAN_KEYS, .*\) has quotes; write the key without/,
    ],
    [
      "a placeholder",
      { ETHERSCAN_KEYS: "YourApiKeyToken" },
      /is a placeholder; write a key from etherscan\.io\/myapikey/,
    ],
    [
      "a key in two groups",
      { ETHERSCAN_KEYS: pool, ETHERSCAN_KEY_GROUPS: "1-3;3,4" },
      /group 2 of groups \(ETHERSCAN_KEY_GROUPS\) and group 1 both have key 3; write it in one/,
    ],
    [
      "a group beyond the pool",
      { ETHERSCAN_KEYS: pool, ETHERSCAN_KEY_GROUPS: "3-9" },
      /ETHERSCAN_KEY_GROUPS\) names key 9 of 4; write positions from 1 to 4/,
    ],
    [
      "a group that is none",
      { ETHERSCAN_KEYS: pool, ETHERSCAN_KEY_GROUPS: "one,two" },
      /ETHERSCAN_KEY_GROUPS\): "one" is neither a position nor a range; write it like "1-5"/,
    ],
    [
      "a slice that is none",
      { ETHERSCAN_KEYS: pool, ETHERSCAN_KEY_SLICE: "1..3" },
      /ETHERSCAN_KEY_SLICE\): "1\.\.3" is neither/,
    ],
    ["a slice backwards", { ETHERSCAN_KEYS: pool, ETHERSCAN_KEY_SLICE: "3-1" }, /the range 3-1 runs backwards/],
    ["a slice from 0", { ETHERSCAN_KEYS: pool, ETHERSCAN_KEY_SLICE: "0-2" }, /positions start at 1/],
    [
      "more base URLs than keys",
      { ETHERSCAN_KEYS: FIRST, ETHERSCAN_BASE_URLS: "https://a.example,https://b.example" },
      /baseUrls \(ETHERSCAN_BASE_URLS\) has 2 entries for 1 keys; write one a key, or fewer/,
    ],
    [
      "a base URL that is none",
      { ETHERSCAN_KEYS: pool, ETHERSCAN_BASE_URLS: "api.etherscan.io" },
      /baseUrls\[0\] \(ETHERSCAN_BASE_URLS\) is not a URL; write it as https:\/\/api\.etherscan\.io\/v2\/api/,
    ],
    [
      "a base URL of another kind",
      { ETHERSCAN_KEYS: pool, ETHERSCAN_BASE_URLS: "ftp://a.example" },
      /is neither http nor https/,
    ],
    [
      "a base URL with a password",
      { ETHERSCAN_KEYS: pool, ETHERSCAN_BASE_URLS: `https://u:${HUSH}@a.example/v2/api` },
      /has a user or password in it/,
    ],
    [
      "a base URL with a key",
      { ETHERSCAN_KEYS: pool, ETHERSCAN_BASE_URLS: `https://a.example/v2/api?apikey=${HUSH}` },
      /has an apikey in it; remove it and set keys \(ETHERSCAN_KEYS\)/,
    ],
    ["PORT=abc", { PORT: "abc" }, /PORT: "abc" is no whole number from 0 to 65535/],
    ["PORT=70000", { PORT: "70000" }, /PORT: "70000" is no whole number from 0 to 65535/],
    ["PORT=-1", { PORT: "-1" }, /PORT: "-1" is no whole number/],
    [
      "a key in PORT",
      { PORT: HUSH },
      new RegExp(`PORT: text \\(fingerprint ${fingerprint(HUSH)}\\) is no whole number`),
    ],
    [
      "UPSTREAM_TIMEOUT=abc",
      { UPSTREAM_TIMEOUT: "abc" },
      /UPSTREAM_TIMEOUT: "abc" is no whole number from 1 to 600000/,
    ],
    ["UPSTREAM_TIMEOUT=0", { UPSTREAM_TIMEOUT: "0" }, /UPSTREAM_TIMEOUT: "0" is no whole number from 1/],
    [
      "an address that is not ours",
      { HOST: "203.0.113.7" },
      /HOST: this machine has no address "203\.0\.113\.7"; try 127\.0\.0\.1/,
    ],
    [
      "a host that nobody knows",
      { HOST: "no-such-host.invalid" },
      /HOST: this machine has no address "no-such-host\.invalid"/,
    ],
    [
      "a token twice",
      { SLUICE_TOKENS: `${HUSH},${HUSH}` },
      /SLUICE_TOKENS\): token 2 \(fingerprint \w+\) is the same as token 1/,
    ],
    [
      "a token with a space",
      { SLUICE_TOKENS: `${HUSH} x` },
      /SLUICE_TOKENS\): token 1 \(fingerprint \w+\) has white space in it/,
    ],
    [
      "one token for callers and operator",
      { SLUICE_TOKENS: HUSH, SLUICE_ADMIN_TOKEN: HUSH },
      /SLUICE_ADMIN_TOKEN\) is also in callers\.tokens/,
    ],
    [
      "a state file below a file",
      { SLUICE_STATE: join(import.meta.filename, "state.db") },
      /SLUICE_STATE: the state file .* cannot be used \(.*\); name a writable path/,
    ],
  ])("%s", async (_what, env, words) => {
    expect(await complaint(env)).toMatch(words);
  });

  test("a port in use", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
    const { port } = server.address() as AddressInfo;
    expect(await complaint({ PORT: String(port) })).toBe(
      `sluice: PORT: 127.0.0.1:${port} is in use; set PORT to another one (0 takes a free one).`,
    );
  });

  test("a state file that is none", async () => {
    const folder = temporaryFolder();
    const text = join(folder, "notes.txt");
    writeFileSync(text, "this is not a database, and long enough to be seen as something else\n".repeat(100));
    expect(await complaint({ SLUICE_STATE: text })).toMatch(/SLUICE_STATE: the state file .*notes\.txt cannot be used/);
    mkdirSync(join(folder, "state.db"));
    expect(await complaint({ SLUICE_STATE: join(folder, "state.db") })).toMatch(
      /SLUICE_STATE: the state file .* cannot be/,
    );
  });

  test.each<[what: string, source: string | null, words: RegExp]>([
    ["missing", null, /SLUICE_CONFIG: .*config\.ts cannot be loaded/],
    [
      "without a default export",
      "export const config = {};",
      /has no default export; write "export default defineSluice/,
    ],
    [
      "that throws",
      `throw new Error("no luck with apikey=${HUSH}");`,
      /config\.ts cannot be loaded \(no luck with apikey=/,
    ],
    ["that is not TypeScript", "export default {", /config\.ts cannot be loaded/],
    [
      "whose function throws",
      `export default (env) => { throw new Error("bad " + env.ETHERSCAN_KEYS); };`,
      /SLUICE_CONFIG: .*config\.ts fails \(bad \[/,
    ],
    ["that gives nothing", "export default () => ({});", /upstreams: must be given/],
    [
      "with a list of upstreams",
      "export default { upstreams: 7 };",
      /upstreams: must be upstreams by name, such as \{ etherscan:/,
    ],
    ["that is a number", "export default 7;", /configuration: must be Object/],
    [
      "that gives a promise",
      "export default async () => ({ upstreams: {} });",
      /configuration: must be there at once, and this is a promise of it/,
    ],
    ["with an unknown option", "export default { upstreams: {}, caller: 1 };", /caller: must be left out/],
    [
      "with an upstream from nowhere",
      "export default { upstreams: { etherscan: {} } };",
      /upstreams\.etherscan: must come from a protocol/,
    ],
    ["with a name of the gateway's own", "export default { upstreams: { rpc: {} } };", /upstreams\.rpc: /],
  ])("a configuration module %s", async (_what, source, words) => {
    const path = join(temporaryFolder(), "config.ts");
    if (source !== null) writeFileSync(path, source);
    expect(await complaint({ SLUICE_CONFIG: path, ETHERSCAN_KEYS: FIRST })).toMatch(words);
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.2", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
