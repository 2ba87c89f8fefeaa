import { describe, expect, test } from "vitest";
import { measureSize, SIZE_CASES } from "./size.ts";

describe("a Worker's bundle", () => {
  test.each(SIZE_CASES)("$name is light enough and holds nothing foreign", (sizeCase) => {
    const { faults, minified } = measureSize(sizeCase);
    expect(faults).toEqual([]);
    // A bundle of nothing would pass every ceiling.
    expect(minified).toBeGreaterThan(10_000);
  });

  test("of the core has valibot and itty-router in it, once", () => {
    const [whole] = SIZE_CASES;
    expect(whole && measureSize(whole).packages).toEqual(
      expect.arrayContaining(["node_modules/itty-router", "node_modules/valibot"]),
    );
  });

  const planted = (source: string, without: readonly RegExp[] = []) =>
    measureSize({ name: "planted", source, ceiling: 1_000, why: "", without }).faults;

  test.each([
    ["a heavy bundle", `export * from "./src/index.ts";`, /are the most/],
    ["process", `export const name = process.env.NAME;`, /process\.env/],
    ["Buffer", `export const text = Buffer.from("a");`, /Buffer/],
    ["srvx", `export { serve } from "srvx/generic";`, /the package srvx/],
  ])("with %s is found out", (_what, source, fault) => {
    expect(planted(source).join("\n")).toMatch(fault);
  });

  test("with a protocol that nobody asked for is found out", () => {
    const core = SIZE_CASES.find(({ without }) => without !== undefined);
    expect(planted(`export { etherscan } from "./src/index.ts";`, core?.without).join("\n")).toMatch(/etherscan\.io/);
  });
});
