import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { VERSION } from "../../src/version.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

describe("documentation", () => {
  test("has a section for every error code, and none for a code that is gone", () => {
    const union = /export type SluiceErrorCode =([^;]+);/.exec(read("src/errors.ts"))?.[1] ?? "";
    const codes = [...union.matchAll(/"(\w+)"/g)].map(([, code]) => code);
    const sections = [...read("docs/errors.md").matchAll(/^## (\w+)$/gm)].map(([, code]) => code);
    expect(codes.length).toBeGreaterThan(10);
    expect(new Set(sections)).toEqual(new Set(codes));
  });

  test("lists every setting that the code reads", () => {
    const code = read("src/env-config.ts") + read("adapters/node/main.ts");
    const named = /\b((?:ETHERSCAN|SLUICE|UPSTREAM)_[A-Z_]+|HOST|PORT)\b/g;
    const settings = new Set([...code.matchAll(named)].map(([name]) => name));
    const readme = read("README.md");
    expect(settings.size).toBeGreaterThan(8);
    for (const setting of settings) expect(readme, setting).toContain(`\`${setting}\``);
  });

  test("the code knows the package's version", () => {
    expect((JSON.parse(read("package.json")) as { version: string }).version).toBe(VERSION);
  });
});
