import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runTool } from "../fixtures/packed-package.ts";
import { root } from "./repository.ts";

/** What the compiler prints; empty when it is content. */
async function complaints(cwd: string): Promise<string> {
  const options = [
    ..."--noEmit --strict --skipLibCheck --allowImportingTsExtensions --verbatimModuleSyntax".split(" "),
    ..."--target es2024 --lib es2024,dom,dom.iterable --module esnext --moduleResolution bundler --types bun".split(
      " ",
    ),
  ];
  try {
    return await runTool("tsc", [...options, "use.ts"], cwd);
  } catch (error) {
    return (error as { stdout?: string }).stdout ?? String(error);
  }
}

test("Bun's own types fit those that the adapter has of its own", { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-bun-types-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const source = `
    import { Database } from "bun:sqlite";
    import { bun } from ${JSON.stringify(join(root, "adapters/bun/index.ts"))};
    import { redisLedger } from ${JSON.stringify(join(root, "adapters/redis/index.ts"))};
    import type { BunRuntime } from ${JSON.stringify(join(root, "adapters/bun/runtime.ts"))};
    import type { BunSqlite } from ${JSON.stringify(join(root, "adapters/bun/sqlite-ledger.ts"))};
    import { configFromEnv } from ${JSON.stringify(join(root, "src/index.ts"))};
    export const runtime: BunRuntime["bun"] = Bun;
    export const sqlite: BunSqlite = { Database };
    export const ledger = redisLedger({ connection: new Bun.RedisClient("redis://127.0.0.1") });
    const gateway = bun(configFromEnv);
    export default gateway satisfies Bun.Serve.Options<undefined>;`;
  writeFileSync(join(folder, "use.ts"), source);
  expect(await complaints(folder)).toBe("");
  // The check would see a mistake.
  writeFileSync(join(folder, "use.ts"), source.replace("= { Database }", "= { Database: Date }"));
  expect(await complaints(folder)).toMatch(/TS2322/);
});
