import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { fingerprint } from "../../src/index.ts";
import {
  type BuiltExample,
  buildExample,
  deploy,
  type Deployed,
  readExample,
  type WorkerConfig,
} from "../fixtures/cloudflare-example.ts";
import { type SandboxPool, startPool } from "../fixtures/sandbox-pool.ts";
import { registerSecrets } from "../fixtures/secret-sink.ts";

const CALLER = "bad-input-caller-0a1b2c3d4e5f";
const OPERATOR = "bad-input-operator-0a1b2c3d4e5f";
const DATABASE = "bad-input-database-0a1b2c3d4e5f";
registerSecrets(CALLER, OPERATOR, DATABASE);

const TOKENS = { SLUICE_TOKENS: CALLER, SLUICE_ADMIN_TOKEN: OPERATOR };
const BALANCE = `/etherscan/v2/api?chainid=1&module=account&action=balance&address=0x${"5".repeat(40)}`;

/** Configurations that a user gets wrong; `SCENARIO` chooses. */
const CONFIGURATIONS = `
import { defineSluice, etherscan } from "sluice";
const mistakes: Record<string, (env: any, right: any) => any> = {
  right: (_env, right) => right,
  throws: (env) => { throw new Error("no route to db://reader:" + env.DATABASE_PASSWORD + "@db.example/main"); },
  nothing: () => undefined,
  "no upstreams": () => ({ callers: "public" }),
  "an upstream of no protocol": (env) => ({ upstreams: { etherscan: { keys: env.ETHERSCAN_KEYS } } }),
  "an unknown limit": (_env, right) => ({ ...right, limits: { maxBodyBytes: 5 } }),
  "an unknown option": (_env, right) => ({ ...right, calers: right.callers }),
  "a promise": async (_env, right) => right,
  "one token for both": (env, right) => ({ ...right, admin: { token: env.SLUICE_TOKENS } }),
};
export default defineSluice((env) =>
  mistakes[env.SCENARIO ?? "right"]!(env, {
    upstreams: { etherscan: etherscan({ keys: env.ETHERSCAN_KEYS, baseUrls: env.ETHERSCAN_BASE_URLS }) },
    callers: { tokens: env.SLUICE_TOKENS },
    admin: { token: env.SLUICE_ADMIN_TOKEN },
  }),
);
`;

let built: BuiltExample;
beforeAll(async () => {
  built = await buildExample({ "sluice.config.ts": CONFIGURATIONS });
}, 60_000);

const NO_LEDGER = { durable_objects: { bindings: [] }, migrations: [] } as const;
const NO_KV = { kv_namespaces: [] } as const;

async function open(change: Partial<WorkerConfig>, env: Readonly<Record<string, string>> = {}): Promise<Deployed> {
  const config = { ...built.config, ...change };
  const worker = await deploy({ script: built.script, config, env: { ...TOKENS, ...env } });
  onTestFinished(() => worker.stop());
  return worker;
}

async function openPool(keys: number): Promise<SandboxPool> {
  const pool = await startPool(keys);
  onTestFinished(() => pool.close());
  return pool;
}

function ask(worker: Deployed, path = BALANCE, token = CALLER): Promise<Response> {
  return fetch(`${worker.urls[0]}${path}`, { headers: { authorization: `Bearer ${token}` } });
}

/** What the text says to write, as it would be copied from it. */
const linesIn = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, line = ""]) => line);

/** The warnings of a Worker's start: as an event, and as a plain line. */
function warningsOf(worker: Deployed): readonly string[] {
  const warnings = worker.events("config_warning").map(({ detail }) => String(detail));
  const plain = worker.output.split("\n").flatMap((line) => /^sluice: (.*slices.*)$/.exec(line)?.[1] ?? []);
  expect(plain).toEqual(warnings);
  return warnings;
}

describe("without SLUICE_LEDGER", () => {
  test("serves its slice, and says which lines to add; with these it is whole", async () => {
    const pool = await openPool(3);
    const worker = await open({ ...NO_LEDGER, ...NO_KV }, pool.env);
    const answers = await Promise.all([ask(worker), ask(worker), ask(worker)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const [warning = "", ...others] = warningsOf(worker);
    expect(others).toEqual([]);
    expect(warning).toMatch(/^There is no SLUICE_LEDGER binding, so isolates know nothing of each other/);
    expect(warning).toMatch(/Until then each isolate spends 1\/20 of every ceiling\.$/);

    // A twentieth of three a second is one in nearly seven seconds, however many want it.
    for (let i = 0; i < 6; i++) void ask(worker).catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    for (const key of [0, 1, 2]) {
      const times = pool.sandbox.requests.filter(({ keyIndex }) => keyIndex === key).map(({ at }) => at);
      for (const [i, at] of times.entries()) expect(at - (times[i - 1] ?? 0)).toBeGreaterThan(6_000);
    }

    const [added = "", exported = ""] = linesIn(warning);
    expect(readExample("worker.ts")).toContain(exported);
    const { durable_objects, migrations } = JSON.parse(`{${added}}`) as Pick<
      WorkerConfig,
      "durable_objects" | "migrations"
    >;
    const mended = await open({ durable_objects, migrations }, pool.env);
    expect((await ask(mended)).status).toBe(200);
    expect(warningsOf(mended)).toEqual([]);
  });

  test("KV alone is no ledger, and it says why", async () => {
    const pool = await openPool(1);
    const worker = await open(NO_LEDGER, pool.env);
    expect((await ask(worker)).status).toBe(200);
    const [warning = "", ...others] = warningsOf(worker);
    expect(others).toEqual([]);
    expect(warning).toMatch(/^SLUICE_KV alone cannot keep one truth \(it has no compare-and-set/);
    expect(linesIn(warning)[0]).toContain('"name": "SLUICE_LEDGER"');
  });

  test("KV is not needed beside a ledger", async () => {
    const pool = await openPool(1);
    const worker = await open(NO_KV, pool.env);
    expect((await ask(worker)).status).toBe(200);
    expect(warningsOf(worker)).toEqual([]);
  });
});

/** What every route answers where nothing can run; the log has the same sentence. */
async function refusalOf(worker: Deployed): Promise<string> {
  for (const path of [BALANCE, "/-/ready", "/"]) {
    const answer = await ask(worker, path);
    const { code, detail } = (await answer.json()) as { code: string; detail: string };
    expect([answer.status, code]).toEqual([500, "config_invalid"]);
    expect(worker.output).toContain(`sluice: ${detail}`);
    if (path === "/") {
      // Once for each isolate, not for each request.
      expect(worker.output.split("sluice: ")).toHaveLength(2);
      return detail;
    }
  }
  return "";
}

describe("a binding of another kind", () => {
  const ledgerLine = { durable_objects: { bindings: [{ name: "SLUICE_LEDGER", class_name: "SluiceLedger" }] } };

  test("a KV namespace as SLUICE_LEDGER", async () => {
    const detail = await refusalOf(await open({ ...NO_LEDGER, kv_namespaces: [{ binding: "SLUICE_LEDGER" }] }));
    expect(detail).toMatch(/^SLUICE_LEDGER is bound to something else and must be a Durable Object's class: take that/);
    expect(JSON.parse(`{${linesIn(detail)[0]}}`)).toMatchObject(ledgerLine);
  });

  test("a text as SLUICE_LEDGER", async () => {
    const detail = await refusalOf(await open(NO_LEDGER, { SLUICE_LEDGER: "SluiceLedger" }));
    expect(detail).toMatch(/^SLUICE_LEDGER is a text and must be a Durable Object's class: take it out of "vars"/);
    const [take, add = ""] = linesIn(detail);
    expect(take).toBe("wrangler secret delete SLUICE_LEDGER");
    expect(JSON.parse(`{${add}}`)).toMatchObject(ledgerLine);
  });

  test("a text as SLUICE_KV", async () => {
    const detail = await refusalOf(await open(NO_KV, { SLUICE_KV: "0f2ac74b498b48028cb68387c421e279" }));
    expect(detail).toMatch(/^SLUICE_KV is a text and must be a KV namespace: take it out of "vars"/);
    expect(JSON.parse(`{${linesIn(detail)[1]}}`)).toEqual({ kv_namespaces: [{ binding: "SLUICE_KV" }] });
  });

  test("a Durable Object's class as SLUICE_KV", async () => {
    const bindings = ["SLUICE_LEDGER", "SLUICE_KV"].map((name) => ({ name, class_name: "SluiceLedger" }));
    const detail = await refusalOf(await open({ ...NO_KV, durable_objects: { bindings } }));
    expect(detail).toMatch(/^SLUICE_KV is bound to something else and must be a KV namespace/);
  });

  test("a class without SQLite serves slices, and the log says what to write", async () => {
    const pool = await openPool(1);
    const worker = await open({ migrations: [] }, pool.env);
    expect((await ask(worker)).status).toBe(200);
    const [down] = worker.events("ledger_down");
    expect(down?.["detail"]).toContain("change `new_classes` to `new_sqlite_classes`");
  });
});

describe("a missing setting", () => {
  test("no SLUICE_TOKENS", async () => {
    const pool = await openPool(1);
    const { SLUICE_TOKENS: _tokens, ...env } = { ...TOKENS, ...pool.env };
    const worker = await deploy({ ...built, env });
    onTestFinished(() => worker.stop());
    const answer = await ask(worker);
    expect(answer.status).toBe(503);
    const { status, result } = (await answer.json()) as { status: string; result: string };
    expect(status).toBe("0");
    expect(linesIn(result)).toContain("wrangler secret put SLUICE_TOKENS");
    expect(pool.sandbox.counts().total.received).toBe(0);
  });

  test("no SLUICE_ADMIN_TOKEN", async () => {
    const pool = await openPool(1);
    const worker = await deploy({ ...built, env: { ...pool.env, SLUICE_TOKENS: CALLER } });
    onTestFinished(() => worker.stop());
    expect((await ask(worker)).status).toBe(200);
    const answer = await ask(worker, "/-/stats");
    expect(answer.status).toBe(401);
    const { code, detail } = (await answer.json()) as { code: string; detail: string };
    expect(code).toBe("admin_only");
    expect(linesIn(detail)).toContain("wrangler secret put SLUICE_ADMIN_TOKEN");
  });

  test("no ETHERSCAN_KEYS", async () => {
    const worker = await open({});
    const answer = await ask(worker);
    expect(answer.status).toBe(503);
    const { result } = (await answer.json()) as { result: string };
    expect(linesIn(result)).toEqual(["wrangler secret put ETHERSCAN_KEYS"]);
    expect(worker.output).toContain("sluice: etherscan: not configured, set ETHERSCAN_KEYS\n");
    expect((await ask(worker, "/-/health")).status).toBe(200);
    expect((await ask(worker, "/-/ready")).status).toBe(503);
  });
});

describe("a malformed setting", () => {
  test.each([
    ["quotes", `"K1K1K1K1K1K1","K2K2K2K2K2K2"`, /^keys\[0\] \(ETHERSCAN_KEYS, fingerprint [0-9a-f]{12}\) has quotes/],
    ["an extra comma", `K1K1K1K1K1K1,,K2K2K2K2K2K2`, /^keys\[1\] \(ETHERSCAN_KEYS\) is empty; remove the extra comma/],
  ])("ETHERSCAN_KEYS with %s", async (_what, keys, sentence) => {
    const worker = await open({}, { ETHERSCAN_KEYS: keys });
    const detail = await refusalOf(worker);
    expect(detail).toMatch(sentence);
    expect(worker.output + detail).not.toMatch(/K[12]K[12]/);
  });

  test("SLUICE_TOKENS with an extra comma", async () => {
    const detail = await refusalOf(await open({}, { SLUICE_TOKENS: `${CALLER},` }));
    expect(detail).toMatch(/^callers\.tokens \(SLUICE_TOKENS\): token 2 is empty\./);
  });
});

describe("a configuration", () => {
  test("that throws keeps what it says to the log, and its secrets to itself", async () => {
    const worker = await open({}, { SCENARIO: "throws", DATABASE_PASSWORD: DATABASE });
    expect(await refusalOf(worker)).toBe("The configuration throws an error; the Worker's log has it.");
    expect(worker.output).toMatch(/no route to db:\/\/db\.example/);
    expect(worker.output).not.toContain(DATABASE);
  });

  test.each([
    ["nothing", /^configuration: must be Object\.$/],
    ["no upstreams", /^upstreams: must be given\.$/],
    [
      "an upstream of no protocol",
      /^upstreams\.etherscan: must come from a protocol, such as etherscan\(\{ keys \}\)\.$/,
    ],
    ["an unknown limit", /^limits\.maxBodyBytes: must be left out\.$/],
    ["an unknown option", /^calers: must be left out\.$/],
    ["a promise", /^configuration: must be there at once/],
    ["one token for both", /^admin\.token \(SLUICE_ADMIN_TOKEN\) is also in callers\.tokens: every such caller/],
  ])("of %s is told what to write", async (scenario, sentence) => {
    const pool = await openPool(1);
    expect(await refusalOf(await open({}, { SCENARIO: scenario, ...pool.env }))).toMatch(sentence);
    expect(pool.sandbox.counts().total.received).toBe(0);
  });

  test("with a weak token works, and is warned of it by its fingerprint", async () => {
    const pool = await openPool(1);
    const worker = await open({}, { ...pool.env, SLUICE_TOKENS: "short-word" });
    expect((await ask(worker, BALANCE, "short-word")).status).toBe(200);
    const details = worker.events("config_warning").map(({ detail }) => String(detail));
    const sentence = `The token with fingerprint ${fingerprint("short-word")} is short enough to be guessed.`;
    expect(details.map((detail) => detail.startsWith(sentence))).toEqual([true]);
  });
});

test("without the flag that shows who has left: serves, and says which line to add", async () => {
  const pool = await openPool(3);
  const worker = await open({ compatibility_flags: [] }, pool.env);
  expect((await ask(worker)).status).toBe(200);
  const details = worker.events("config_warning").map(({ detail }) => String(detail));
  expect(details).toHaveLength(1);
  const [line = ""] = linesIn(details[0] ?? "");
  expect(JSON.parse(`{${line}}`)).toEqual({ compatibility_flags: ["enable_request_signal"] });
});
