import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { npmScript } from "../fixtures/npm-script.ts";
import { ninePhases } from "../fixtures/sandbox-etherscan.ts";
import { registerSecrets } from "../fixtures/secret-sink.ts";

registerSecrets(...ninePhases(0).map(({ key }) => key));

interface Demo {
  readonly child: ChildProcess;
  readonly lines: () => readonly string[];
  readonly errors: () => string;
  readonly exited: Promise<number | null>;
  /** Where it keeps what it keeps while it runs. */
  readonly folder: string;
}

function startDemo(...args: readonly string[]): Demo {
  const folder = mkdtempSync(join(tmpdir(), "sluice-demo-test-"));
  const child = spawn(process.execPath, [...npmScript("demo"), "--port", "0", ...args], {
    cwd: folder,
    env: { PATH: process.env["PATH"], TMPDIR: folder },
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  return {
    child,
    folder,
    lines: () => stdout.split("\n").slice(0, -1),
    errors: () => stderr,
    exited: new Promise((resolve) => child.once("close", resolve)),
  };
}

test("npm run demo serves, tells how it goes, and ends by itself without a trace", async () => {
  const demo = startDemo("--seconds", "4", "--rate", "10");
  await expect.poll(() => demo.lines().length, { timeout: 5_000 }).toBeGreaterThanOrEqual(4);
  const url = /^sluice listening on (http:\/\/127\.0\.0\.1:\d+)$/.exec(demo.lines()[0] ?? "")?.[1] ?? "";
  const answer = await fetch(`${url}/etherscan/v2/api?chainid=1&module=proxy&action=eth_blockNumber`);
  expect(await answer.json()).toMatchObject({ jsonrpc: "2.0" });
  expect(existsSync(join(demo.folder, readdirSync(demo.folder)[0] ?? "", "state.db"))).toBe(true);
  expect(await demo.exited).toBe(0);
  const stats = demo.lines().filter((line) => line.startsWith("answered "));
  expect(stats.length).toBeGreaterThanOrEqual(2);
  expect(stats.at(-1)).toMatch(
    /^answered [1-9]\d* · failed 0 · p50 \d+ ms · p95 \d+ ms · refused upstream \d+ · keys \d well, \d sick$/,
  );
  expect(demo.lines().at(-1)).toBe("stopped");
  // Nothing but events.
  expect(demo.errors()).toMatch(/^(\d{4}-\d\d-\d\dT[\d:.]+Z etherscan [a-z_]+ [^\n]*\n)*$/);
  expect(readdirSync(demo.folder)).toEqual([]);
});

test.each(["SIGINT", "SIGTERM"] as const)("%s stops it cleanly", async (signal) => {
  const demo = startDemo("--rate", "20");
  await expect.poll(() => demo.lines().length, { timeout: 5_000 }).toBeGreaterThanOrEqual(4);
  demo.child.kill(signal);
  demo.child.kill(signal);
  expect(await demo.exited).toBe(0);
  expect(demo.lines().at(-1)).toBe("stopped");
  expect(demo.lines().at(-2)).toMatch(/ · failed 0 · /);
  expect(readdirSync(demo.folder)).toEqual([]);
});

test("a wrong option is explained", async () => {
  const demo = startDemo("--seconds", "soon");
  expect(await demo.exited).toBe(1);
  expect(demo.errors()).toMatch(/^--seconds takes a number\.\nusage: npm run demo/);
});
