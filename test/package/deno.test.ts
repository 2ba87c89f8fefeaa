import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runTool } from "../fixtures/packed-package.ts";
import { readText, root } from "./repository.ts";

/** What a failing tool printed; empty when it is content. */
async function complaints(...args: readonly string[]): Promise<string> {
  try {
    await runTool("deno", args, root);
    return "";
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    return stdout + stderr || String(error);
  }
}

test("deno would publish it: types that need no inference, all files there", { timeout: 120_000 }, async () => {
  const printed = await runTool("deno", ["publish", "--dry-run", "--allow-dirty"], root);
  expect(printed).toContain("Dry run complete");
  expect(printed).not.toMatch(/warning\[|error\[/);
});

test("deno lint has nothing to say", { timeout: 60_000 }, async () => {
  expect(await complaints("lint", "src", "adapters")).toBe("");
  // An async function without await is how a function that may throw keeps its promise to return one.
  const { lint } = JSON.parse(readText("deno.json")) as { lint: unknown };
  expect(lint).toEqual({ rules: { exclude: ["require-await"] } });
});

test("the examples in doc comments run", { timeout: 120_000 }, async () => {
  // Entries of other runtimes import what Deno has not.
  const files = ["src", ...["deno", "memory", "unstorage"].map((name) => `adapters/${name}`)];
  const printed = await runTool("deno", ["test", "--doc", "--allow-all", "--unstable-kv", ...files], root);
  const passed = Number(/(\d+) passed/.exec(printed)?.[1]);
  expect(passed).toBeGreaterThanOrEqual(9);
  expect(printed).not.toMatch(/failed \|.*[1-9] failed/);
});

test("Deno's own types fit those that the adapter has of its own", { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-deno-types-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const source = `
    import { deno, denoKv, denoKvLedger } from ${JSON.stringify(join(root, "adapters/deno/index.ts"))};
    import { type DenoRuntime } from ${JSON.stringify(join(root, "adapters/deno/runtime.ts"))};
    import { configFromEnv } from ${JSON.stringify(join(root, "src/index.ts"))};
    const kv: Deno.Kv = await Deno.openKv(":memory:");
    export const stores = [denoKvLedger(kv), denoKv(kv)];
    export const runtime: DenoRuntime = Deno;
    export default deno(configFromEnv) satisfies Deno.ServeDefaultExport;`;
  const file = join(folder, "use.ts");
  writeFileSync(file, source);
  const args = ["check", "--config", join(root, "deno.json"), "--unstable-kv", "--unstable-cron", file];
  expect(await complaints(...args)).toBe("");
  // The check would see a mistake.
  writeFileSync(file, source.replace("denoKvLedger(kv)", "denoKvLedger({})"));
  expect(await complaints(...args)).toMatch(/TS2345/);
});
