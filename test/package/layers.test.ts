import { describe, expect, test } from "vitest";
import { layerViolations } from "./layers.ts";
import { parseModule } from "./parse-module.ts";
import { readText, repositoryFiles } from "./repository.ts";

const modules = repositoryFiles()
  .filter((path) => /^(src|adapters)\/.*\.ts$/.test(path))
  .map((path) => ({ path, ...parseModule(path, readText(path)) }));

/** The violations of one file with this text, as `layerViolations` words them. */
const violationsOf = (path: string, source: string): string[] =>
  layerViolations([{ path, ...parseModule(path, source) }]).map((violation) => violation.why);

describe("the tree", () => {
  test("is seen, imports and all", () => {
    expect(modules.filter((module) => module.path.startsWith("src/")).length).toBeGreaterThan(20);
    expect(modules.flatMap((module) => module.imports).length).toBeGreaterThan(40);
  });

  test("keeps the layers", () => {
    expect(layerViolations(modules)).toEqual([]);
  });

  test("has no code in src/ports", () => {
    const ports = modules.filter((module) => module.path.startsWith("src/ports/"));
    expect(ports.length).toBeGreaterThan(5);
    expect(ports.filter((module) => module.hasCode).map((module) => module.path)).toEqual([]);
  });

  test("reads no ambient time or chance in src", () => {
    const ambient = modules
      .filter((module) => module.path.startsWith("src/"))
      .flatMap((module) => module.ambient.map((use) => `${module.path}: ${use}`));
    expect(ambient).toEqual([]);
  });
});

describe("each layer's planted violation fires", () => {
  test.each([
    ["src/lib/backoff.ts", `import { SluiceError } from "../errors.ts";`, "lib may not import errors"],
    ["src/lib/backoff.ts", `import type { Clock } from "../ports/clock.ts";`, "lib may not import ports"],
    ["src/errors.ts", `import type { Clock } from "./ports/clock.ts";`, "errors may not import ports"],
    ["src/ports/clock.ts", `import type { Tat } from "../ledger/bucket.ts";`, "ports may not import ledger"],
    ["src/ledger/bucket.ts", `import { SluiceError } from "../errors.ts";`, "ledger may not import errors"],
    ["src/ledger/bucket.ts", `import type { Target } from "../engine/target.ts";`, "ledger may not import engine"],
    ["src/engine/pool.ts", `import { gas } from "../gas/oracle.ts";`, "engine may not import gas"],
    ["src/engine/pool.ts", `import { judge } from "../upstreams/evm/judge.ts";`, "engine may not import upstreams"],
    ["src/gas/oracle.ts", `import { key } from "../callers/key.ts";`, "gas may not import callers"],
    ["src/callers/key.ts", `import { judge } from "../upstreams/evm/judge.ts";`, "callers may not import upstreams"],
    ["src/upstreams/evm/index.ts", `import { key } from "../../callers/key.ts";`, "upstreams may not import callers"],
    ["src/jobs/sweep.ts", `import { router } from "../http/router.ts";`, "jobs may not import http"],
    ["src/http/router.ts", `import { parse } from "../config.ts";`, "http may not import top"],
    ["src/http/router.ts", `import { x } from "../index.ts";`, "http may not import top"],
    ["src/upstreams/evm/index.ts", `import { x } from "../openai/sse.ts";`, "upstreams never import each other"],
    ["src/ledger/bucket.ts", `import { Ledger } from "../ports/ledger.ts";`, "ports hold types only: import type"],
    ["src/sluice.ts", `import { x } from "../adapters/node/index.ts";`, "src imports nothing outside src"],
    ["src/sluice.ts", `import { x } from "../test/fixtures/fake-clock.ts";`, "src imports nothing outside src"],
    ["src/utils.ts", `export {};`, "src/utils.ts belongs to no layer"],
    ["src/helpers/date.ts", `export {};`, "src/helpers/date.ts belongs to no layer"],
    ["src/lib/backoff.ts", `import { x } from "./word";`, "relative imports end in .ts"],
  ])("%s: %s", (path, source, why) => {
    expect(violationsOf(path, source)).toEqual([why]);
  });

  test.each([
    ["src/engine/pool.ts", `import { AutoRouter } from "itty-router";`, "itty-router is not allowed in this place"],
    ["src/sluice.ts", `import { AutoRouter } from "itty-router";`, "itty-router is not allowed in this place"],
    ["src/engine/pool.ts", `import * as v from "valibot";`, "valibot is not allowed in this place"],
    ["src/http/router.ts", `import * as v from "valibot";`, "valibot is not allowed in this place"],
    ["src/http/router.ts", `import { Hono } from "hono";`, "src may not use the package hono"],
    ["src/lib/redact.ts", `import { readFileSync } from "node:fs";`, "src may not use the package node:fs"],
    ["src/lib/redact.ts", `import type { Server } from "srvx/node";`, "src may not use the package srvx"],
  ])("package in %s: %s", (path, source, why) => {
    expect(violationsOf(path, source)).toEqual([why]);
  });

  test.each([
    ["adapters/node/index.ts", `import { choose } from "../../src/engine/choose.ts";`, "package's entries only"],
    ["adapters/node/index.ts", `import { Clock } from "../../src/ports/clock.ts";`, "package's entries only"],
    ["adapters/bun/index.ts", `import { x } from "../node/index.ts";`, "bun may not import the adapter node"],
    ["adapters/vercel/index.ts", `import { x } from "../sqlite/index.ts";`, "vercel may not import the adapter sqlite"],
    ["adapters/sqlite/index.ts", `import { x } from "../redis/index.ts";`, "sqlite may not import the adapter redis"],
    ["adapters/node/index.ts", `import { x } from "../../test/fixtures/x.ts";`, "imports only src and adapters"],
    ["adapters/hono/index.ts", `import { x } from "node:fs";`, "hono may not use node:fs"],
    ["adapters/memory/index.ts", `import { serve } from "srvx";`, "memory may not use srvx"],
    ["adapters/lambda/index.ts", `import { x } from "../../src/index.ts";`, "belongs to no adapter of the table"],
  ])("%s: %s", (path, source, why) => {
    expect(violationsOf(path, source)).toEqual([expect.stringContaining(why)]);
  });

  test.each([
    [`export { AutoRouter } from "itty-router";`],
    [`export * from "itty-router";`],
    [`const router = await import("itty-router");`],
    ["const router = await import(`itty-router`);"],
    [`type Router = import("itty-router").RouterType;`],
    [`import "itty-router";`],
    [`import type { RouterType } from "itty-router";`],
  ])("whatever form the import has: %s", (source) => {
    expect(violationsOf("src/engine/pool.ts", source)).toEqual(["itty-router is not allowed in this place"]);
  });

  test("an import whose target is computed is none that can be judged", () => {
    expect(violationsOf("src/engine/pool.ts", `await import(name);`)).toHaveLength(1);
  });
});

test("what the table allows is allowed", () => {
  const allowed = [
    ["src/http/routes/stats.ts", `import { error } from "itty-router";`],
    ["src/config.ts", `import * as v from "valibot";`],
    [
      "src/engine/pool.ts",
      `import type { Clock } from "../ports/clock.ts"; import { slot } from "../ledger/bucket.ts";`,
    ],
    [
      "src/upstreams/etherscan/index.ts",
      `import { judge } from "./judge.ts"; import { SluiceError } from "../../errors.ts";`,
    ],
    ["adapters/node/index.ts", `import { serve } from "srvx/node"; import { sqliteLedger } from "../sqlite/index.ts";`],
    [
      "adapters/node/main.ts",
      `import { x } from "./index.ts"; import { y } from "../../src/upstreams/etherscan/index.ts";`,
    ],
    [
      "adapters/sqlite/index.ts",
      `import { DatabaseSync } from "node:sqlite"; import type { L } from "../../src/ports/ledger.ts";`,
    ],
  ] as const;
  expect(allowed.flatMap(([path, source]) => violationsOf(path, source))).toEqual([]);
});

test.each([
  [`export const at = new Date();`],
  [`export const at = Date();`],
  [`export const at = Date.now();`],
  [`export const at = Date["now"]();`],
  [`export const now = Date.now;`],
  [`export const roll = () => Math.random();`],
  [`export const at = () => performance.now();`],
  [`export const id = crypto.randomUUID();`],
])("ambient time and chance fire: %s", (source) => {
  expect(parseModule("src/lib/planted.ts", source).ambient).toHaveLength(1);
});

test("a date made from a given instant is not ambient", () => {
  const source = `export const day = (ms: number): Date => new Date(ms); export const t = Date.UTC(2026, 0, 1);`;
  expect(parseModule("src/lib/planted.ts", source).ambient).toEqual([]);
});

test("code in a ports file is told from types", () => {
  expect(
    parseModule("src/ports/a.ts", `export interface A {} export type B = A; import type { C } from "./c.ts";`).hasCode,
  ).toBe(false);
  expect(parseModule("src/ports/a.ts", `export const a = 1;`).hasCode).toBe(true);
  expect(parseModule("src/ports/a.ts", `export enum A { B }`).hasCode).toBe(true);
});
