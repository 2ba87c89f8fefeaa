import { defineConfig } from "vitest/config";

/** The same vitest runs on Node, Deno and Bun, each with its own files: `npm test` runs all three. */
const foreign: readonly string[] = ["deno", "bun"];
const runtime = "Deno" in globalThis ? "deno" : "Bun" in globalThis ? "bun" : "node";

export default defineConfig({
  test: {
    include: runtime === "node" ? ["test/**/*.test.ts"] : [`test/**/*.${runtime}.test.ts`],
    exclude: [
      "test/bench/**",
      ...foreign.filter((name) => name !== runtime).map((name) => `test/**/*.${name}.test.ts`),
    ],
    globalSetup: ["test/fixtures/secret-guard.ts"],
    setupFiles: ["test/fixtures/collect-output.ts"],
    ...(runtime === "node" ? { execArgv: ["--disable-warning=ExperimentalWarning"] } : {}),
    maxWorkers: 2,
    retry: 0,
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
