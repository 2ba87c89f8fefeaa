import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { type Report, tablesOf } from "./fixtures/run-tables.ts";
import { ensureCommand } from "./fixtures/system-packages.ts";

/**
 * `npm test`: every gate and every test, all of them even when one fails. The last line is `N passed, N failed`, the
 * tests counted by vitest; the exit code also covers the gates. With arguments (`npm test -- test/unit/queue.test.ts`)
 * only vitest runs, with these arguments.
 */
const root = resolve(import.meta.dirname, "..");
const bin = join(root, "node_modules", ".bin");
const only = process.argv.slice(2);

const gates: readonly (readonly [name: string, command: string, ...args: string[]])[] = [
  ["types of src", "tsc", "-p", "tsconfig.json"],
  ["types of adapters", "tsc", "-p", "adapters/tsconfig.json"],
  ["types of everything", "tsc", "-p", "tsconfig.node.json"],
  ["lint", "oxlint", "--type-aware", "--report-unused-disable-directives"],
  ["unused code and packages", "knip", "--no-progress"],
  ["format (npm run format mends it)", "oxfmt", "--list-different"],
];

function run(command: string, args: readonly string[], extra: Readonly<Record<string, string>> = {}): boolean {
  const child = spawnSync(join(bin, command), args, {
    cwd: root,
    // The system's own Node may be too old for the tools: the one in node_modules comes first.
    env: { ...process.env, ...extra, PATH: `${bin}${delimiter}${process.env["PATH"] ?? ""}` },
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (child.error !== undefined) process.stderr.write(`${command}: ${child.error.message}\n`);
  return child.status === 0;
}

/** How vitest is run on each runtime. */
const runtimes: readonly (readonly [runtime: string, command: string, ...args: string[]])[] = [
  ["node", "vitest"],
  ["deno", "deno", "run", "--allow-all", "--unstable-kv", "--unstable-cron", "npm:vitest"],
  ["bun", "bun", "--bun", "vitest"],
];
const foreign = ["deno", "bun"] as const;

/** Null when vitest wrote no report that can be counted. */
function readReport(path: string): Report | null {
  if (!existsSync(path)) return null;
  const report = JSON.parse(readFileSync(path, "utf8")) as Partial<Report> | null;
  const isWhole = typeof report?.numPassedTests === "number" && typeof report.numFailedTests === "number";
  return isWhole && Array.isArray(report.testResults) ? (report as Report) : null;
}

ensureCommand("redis-server", "redis-server");

const broken: string[] = [];
for (const [name, command, ...args] of only.length > 0 ? [] : gates) {
  const from = performance.now();
  const fine = run(command, args);
  if (!fine) broken.push(name);
  process.stdout.write(`${fine ? "ok  " : "FAIL"} ${name} (${Math.round(performance.now() - from)} ms)\n`);
}

const folder = mkdtempSync(join(tmpdir(), "sluice-test-"));
const whole = only.length === 0;
const reports: Report[] = [];
for (const [runtime, command, ...args] of runtimes) {
  // Of arguments, a file of another runtime's is run there.
  const named = only.filter((arg) => foreign.some((other) => arg.includes(`.${other}.`)));
  const mine = named.some((arg) => arg.includes(`.${runtime}.`)) || (runtime === "node" && named.length < only.length);
  if (!whole && !mine) continue;
  const path = join(folder, `${runtime}.json`);
  const vitest = ["run", "--allowOnly=false", "--reporter=default", "--reporter=json", `--outputFile.json=${path}`];
  if (!run(command, [...args, ...vitest, ...only], whole && runtime === "node" ? { SLUICE_TEST_WHOLE: "1" } : {})) {
    broken.push(`vitest on ${runtime}`);
  }
  const report = readReport(path);
  if (report === null) broken.push(`vitest on ${runtime} wrote no report`);
  else if (report.numPassedTests + report.numFailedTests === 0) broken.push(`no test ran on ${runtime}`);
  else reports.push(report);
}
rmSync(folder, { recursive: true });
const passed = reports.reduce((sum, report) => sum + report.numPassedTests, 0);
const failed = reports.reduce((sum, report) => sum + report.numFailedTests, 0);
if (whole) {
  const { lines, missing } = tablesOf(reports);
  process.stdout.write(`\n${lines.join("\n")}\n\n`);
  for (const runtime of missing) broken.push(`${runtime} has not shown itself (test/runtime/proofs*.test.ts)`);
}

if (broken.length > 0) {
  process.stdout.write(`\nNot green: ${broken.join("; ")}\n`);
  process.exitCode = 1;
}
process.stdout.write(`${passed} passed, ${failed} failed\n`);
