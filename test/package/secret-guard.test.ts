import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findLeaks, parseSink, registerSecrets, type SinkEntry } from "../fixtures/secret-sink.ts";
import { root } from "./repository.ts";

// Put together here, so that the sink of this very run does not know it.
const SECRET = ["PLANTED", "SECRET", "0123456789+/"].join("-");

describe("findLeaks", () => {
  const secret: SinkEntry = { kind: "secret", secret: SECRET };
  const leaksOf = (...texts: string[]) =>
    findLeaks([...texts.map((text): SinkEntry => ({ kind: "text", label: "a log", text })), secret]);

  test.each([
    ["plain", `GET /v2/api?apikey=${SECRET}&module=account`],
    ["percent-encoded", `GET /v2/api?apikey=${encodeURIComponent(SECRET)}`],
    ["base64", `authorization: Basic ${btoa(SECRET)}`],
  ])("finds a planted secret in %s form, without repeating it", (form, text) => {
    const leaks = leaksOf("a line before\n", text);
    expect(leaks).toMatchObject([{ label: "a log", form, secret: "PLAN… (27 characters)" }]);
    expect(JSON.stringify(leaks)).not.toContain(SECRET);
  });

  test("finds one that two chunks share", () => {
    expect(leaksOf(`key ${SECRET.slice(0, 9)}`, `${SECRET.slice(9)} end`)).toHaveLength(1);
  });

  test("passes text that holds no secret", () => {
    expect(leaksOf("key 3f9a01c2d4e5 cooled for 1 s", SECRET.slice(0, -1))).toEqual([]);
  });

  test("reads what the sink wrote", () => {
    expect(parseSink(`${JSON.stringify(secret)}\n`)).toEqual([secret]);
  });
});

test("a secret that chance could write is refused", () => {
  expect(() => registerSecrets("abc")).toThrow("at least 8 characters");
});

describe("a run of vitest with the project's configuration", { timeout: 60_000 }, () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "sluice-guard-"));
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    writeFileSync(
      join(folder, "vitest.config.ts"),
      `import config from ${JSON.stringify(join(root, "vitest.config.ts"))};
       const at = (file: string) => ${JSON.stringify(root)} + "/" + file;
       const { test, ...rest } = config;
       export default { ...rest, test: {
         ...test, globalSetup: test.globalSetup.map(at), setupFiles: test.setupFiles.map(at) } };`,
    );
    mkdirSync(join(folder, "test"));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  function run(body: string): { failed: boolean; output: string } {
    const file = join(folder, "test", "planted.test.ts");
    writeFileSync(
      file,
      `import { expect, test } from "vitest";
       import { spawn } from "node:child_process";
       import { once } from "node:events";
       import { collect, registerSecrets } from ${JSON.stringify(join(root, "test/fixtures/secret-sink.ts"))};
       const secret = ${JSON.stringify(SECRET)};
       test("planted", async () => { registerSecrets(secret); ${body} });`,
    );
    const child = spawnSync(process.execPath, [join(root, "node_modules/vitest/vitest.mjs"), "run"], {
      cwd: folder,
      encoding: "utf8",
    });
    return { failed: child.status !== 0, output: child.stdout + child.stderr };
  }

  test.each([
    ["handed to collect", `collect("a body", "{" + secret + "}");`, "a body"],
    ["logged", `console.warn("cooling", { key: secret });`, "console.warn"],
    ["logged in an error", `console.error(new Error("no answer from " + secret));`, "console.error"],
    ["written to stdout", `process.stdout.write(secret + "\\n");`, "stdout"],
    [
      "printed by a child process",
      `const child = spawn(process.execPath, ["-e", "console.error(" + JSON.stringify(secret) + ")"]);
       child.stderr.resume();
       await once(child, "close");`,
      "stderr of child",
    ],
    ["read from an answer", `await new Response("so " + secret).text();`, "an answer"],
    ["read from an answer's bytes", `await new Response("so " + secret).arrayBuffer();`, "an answer"],
    ["in an answer's header", `await new Response("", { headers: { "x-trace": secret } }).text();`, "an answer"],
  ])("fails when a secret is %s", (_how, body, label) => {
    const { failed, output } = run(body);
    expect(output).toContain("secrets show in what the suite produced");
    expect(output).toContain(label);
    expect(output).toMatch(/Tests .*1 passed/);
    expect(failed).toBe(true);
  });

  test("passes when none is", () => {
    const { failed, output } = run(`console.log("cooling 3f9a01c2d4e5"); expect(secret).toContain("PLANTED");`);
    expect(output).toMatch(/secrets: 1 registered, [1-9]\d* texts searched, 0 leaks/);
    expect(failed).toBe(false);
  });
});
