import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
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

interface Counts {
  readonly passed: number;
  readonly failed: number;
}

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

/** Null when vitest wrote no report that can be counted. */
function readCounts(report: string): Counts | null {
  if (!existsSync(report)) return null;
  const counts: unknown = JSON.parse(readFileSync(report, "utf8"));
  if (typeof counts !== "object" || counts === null) return null;
  if (!("numPassedTests" in counts) || !("numFailedTests" in counts)) return null;
  const { numPassedTests: passed, numFailedTests: failed } = counts;
  return typeof passed === "number" && typeof failed === "number" ? { passed, failed } : null;
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
const report = join(folder, "report.json");
const whole = only.length === 0;
const vitest = ["run", "--allowOnly=false", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
if (!run("vitest", [...vitest, ...only], whole ? { SLUICE_TEST_WHOLE: "1" } : {})) broken.push("vitest");
const counts = readCounts(report);
rmSync(folder, { recursive: true });
if (counts === null) broken.push("vitest wrote no report");
else if (counts.passed + counts.failed === 0) broken.push("no test ran");

if (broken.length > 0) {
  process.stdout.write(`\nNot green: ${broken.join("; ")}\n`);
  process.exitCode = 1;
}
process.stdout.write(`${counts?.passed ?? 0} passed, ${counts?.failed ?? 0} failed\n`);
