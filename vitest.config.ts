import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/bench/**"],
    globalSetup: ["test/fixtures/secret-guard.ts"],
    setupFiles: ["test/fixtures/collect-output.ts"],
    execArgv: ["--disable-warning=ExperimentalWarning"],
    maxWorkers: 2,
    retry: 0,
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
