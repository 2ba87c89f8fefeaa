import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { root } from "./repository.ts";

/** A violation to plant: the file it goes to, what must fire there, and the source. */
type Planted = readonly [path: string, fires: string, source: string];

const bin = join(root, "node_modules/.bin");
let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-gates-"));
  // With the packages in reach it is the configuration, and nothing else, that keeps Node's types out.
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  for (const file of [".oxlintrc.json", ".oxfmtrc.json", "knip.json", "tsconfig.json"]) {
    copyFileSync(join(root, file), join(folder, file));
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

function plant(cases: readonly Planted[]): void {
  for (const place of ["src", "adapters", "test"]) rmSync(join(folder, place), { recursive: true, force: true });
  for (const [path, , source] of cases) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), source);
  }
}

function tool(name: string, ...args: string[]): { status: number | null; output: string } {
  const child = spawnSync(join(bin, name), args, {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, PATH: `${bin}:${process.env["PATH"] ?? ""}` },
  });
  return { status: child.status, output: child.stdout + child.stderr };
}

function group(found: Iterable<readonly [path: string, code: string]>): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const [path, code] of found) groups.set(path, [...(groups.get(path) ?? []), code]);
  return groups;
}

describe("the compiler, on files of src", () => {
  const nodes: readonly Planted[] = [
    ["src/a-process.ts", "TS2591", `export const name: unknown = process.env["NAME"];`],
    ["src/a-buffer.ts", "TS2591", `export const text: unknown = Buffer.from("a");`],
    ["src/a-immediate.ts", "TS2304", `export const timer: unknown = setImmediate;`],
    ["src/a-require.ts", "TS2591", `export const fs: unknown = require("fs");`],
    ["src/a-import.ts", "TS2591", `import { readFileSync } from "node:fs"; export const read: unknown = readFileSync;`],
  ];
  const others: readonly Planted[] = [
    ["src/b-deno.ts", "TS2304", `export const env: unknown = Deno.env;`],
    ["src/b-bun.ts", "TS2868", `export const file: unknown = Bun.file;`],
    ["src/b-window.ts", "TS2304", `export const width: unknown = window.innerWidth;`],
    ["src/b-index.ts", "TS2322", `export const first = (list: string[]): string => list[0];`],
    ["src/b-absent.ts", "TS2375", `export const option: { a?: string } = { a: undefined };`],
    ["src/b-type-import.ts", "TS1484", `import { Shape } from "./clean.ts"; export type Two = [Shape, Shape];`],
    ["src/b-enum.ts", "TS1294", `export enum Level { Low }`],
    ["src/b-untyped.ts", "TS9007", `export const sum = (a: number) => a;`],
    [
      "src/b-fall.ts",
      "TS7029",
      `export function f(a: number): number { switch (a) { case 1: a++; case 2: a--; } return a; }`,
    ],
  ];
  const clean: Planted = [
    "src/clean.ts",
    "",
    `export interface Shape { url: URL } export const url: URL = new URL("https://example.org/");`,
  ];
  let found = new Map<string, string[]>();
  let withNodesTypes = new Map<string, string[]>();
  const compile = (...flags: string[]): Map<string, string[]> => {
    const { output } = tool("tsc", "-p", "tsconfig.json", "--pretty", "false", ...flags);
    return group([...output.matchAll(/^(src\/[\w-]+\.ts)\(.*error (TS\d+)/gm)].map((m) => [m[1] ?? "", m[2] ?? ""]));
  };
  beforeAll(() => {
    plant([clean, ...nodes, ...others]);
    found = compile();
    withNodesTypes = compile("--types", "node");
  });

  test("pass clean code", () => {
    expect(found.get(clean[0])).toBeUndefined();
  });

  test.each(nodes)("%s fires %s, and would not with Node's types", (path, code) => {
    expect(found.get(path)).toEqual([code]);
    expect(withNodesTypes.get(path)).toBeUndefined();
  });

  test.each(others)("%s fires %s", (path, code) => {
    expect(found.get(path)).toEqual([code]);
  });
});

describe("the linter", () => {
  const globals = (
    "process Buffer Deno Bun globalThis self performance scheduler fetch setTimeout setInterval setImmediate " +
    "clearTimeout CompressionStream"
  ).split(" ");
  const ambient = [
    "Date.now()",
    "Math.random()",
    "crypto.randomUUID()",
    "crypto.getRandomValues(new Uint8Array(1))",
    "AbortSignal.any([])",
    "AbortSignal.timeout(1)",
  ];
  const rules: readonly Planted[] = [
    ...globals.map((name): Planted => [`src/global-${name}.ts`, "eslint(no-restricted-globals)", use(name)]),
    ...ambient.map((call, i): Planted => [`src/ambient-${i}.ts`, "eslint(no-restricted-properties)", use(call)]),
    ["src/console.ts", "eslint(no-console)", `console.log("here");`],
    ["src/default-export.ts", "import(no-default-export)", `export default 1;`],
    ["src/eval.ts", "eslint(no-eval)", `eval("1");`],
    ["src/new-function.ts", "eslint(no-new-func)", use(`new Function("return 1")`)],
    ["src/any.ts", "typescript(no-explicit-any)", `export const a = (b: any): boolean => b === 1;`],
    ["test/any.ts", "typescript(no-explicit-any)", `export const a = (b: any): boolean => b === 1;`],
    ["src/non-null.ts", "typescript(no-non-null-assertion)", `export const a = (b: string | null): string => b!;`],
    ["adapters/non-null.ts", "typescript(no-non-null-assertion)", `export const a = (b: string | null): string => b!;`],
    ["src/ignore.ts", "typescript(ban-ts-comment)", `// @ts-ignore\nexport const a = 1;`],
    ["src/floating.ts", "typescript(no-floating-promises)", `Promise.resolve(1).then(() => 2);`],
    ["test/floating.ts", "typescript(no-floating-promises)", `Promise.resolve(1).then(() => 2);`],
    ["src/misused.ts", "typescript(no-misused-promises)", `[1].forEach(async () => { await Promise.resolve(); });`],
    ["src/unsafe.ts", "typescript(no-unsafe-return)", `export const a = (b: string): number => JSON.parse(b);`],
    ["src/throws.ts", "typescript(only-throw-error)", `export const a = (): never => { throw "no"; };`],
    ["src/equals.ts", "eslint(eqeqeq)", `export const a = (b: string): boolean => b == "c";`],
    ["src/unused.ts", "eslint(no-unused-vars)", `const a = 1;\nexport {};`],
    [
      "src/switch.ts",
      "typescript(switch-exhaustiveness-check)",
      `export function f(a: "b" | "c"): number { switch (a) { case "b": return 1; } return 2; }`,
    ],
    [
      "src/value-import.ts",
      "typescript(consistent-type-imports)",
      `import { A } from "./clean.ts";\nexport const a = (b: A): A => b;`,
    ],
    ["src/idle-comment.ts", "unused directive", `// oxlint-disable-next-line no-console\nexport const a = 1;`],
  ];
  const clean: readonly Planted[] = [
    ["src/clean.ts", "", `export interface A { url: URL }\n${use(`new URL("https://example.org/")`)}`],
    ...globals.map((name): Planted => [`adapters/node/global-${name}.ts`, "", use(name)]),
  ];
  let found = new Map<string, string[]>();
  beforeAll(() => {
    plant([...rules, ...clean]);
    const flags = ["--type-aware", "--report-unused-disable-directives", "--format=json"];
    const { diagnostics } = JSON.parse(tool("oxlint", ...flags, "src", "adapters", "test").output) as {
      diagnostics: { code?: string; filename: string; message: string }[];
    };
    found = group(
      diagnostics.map(({ code, filename, message }) => [
        filename.replaceAll("\\", "/"),
        code ?? (message.startsWith("Unused") ? "unused directive" : message),
      ]),
    );
  });

  test.each(rules)("%s fires %s", (path, rule) => {
    expect(found.get(path)).toContain(rule);
  });

  test.each(clean)("%s passes", (path) => {
    expect(found.get(path)).toBeUndefined();
  });
});

describe("the formatter", () => {
  const formatted = (source: string): boolean => {
    plant([["src/planted.ts", "", source]]);
    return tool("oxfmt", "--list-different", "src").status === 0;
  };

  test.each([
    ["single quotes", "export const a = 'b';\n"],
    ["no semicolon", "export const a = 1\n"],
    ["four spaces", `export function a(): number {\n    return 1;\n}\n`],
    ["a line of 130 columns", `export const a = [${"1, ".repeat(37)}1];\n`],
    ["a break that 120 columns do not need", `export const a = [\n  ${"1, ".repeat(10)}1,\n];\n`],
  ])("refuses %s", (_what, source) => {
    expect(formatted(source)).toBe(false);
  });

  test("passes a line that just fits", () => {
    expect(formatted(`export const a = [${"1, ".repeat(32)}1];\n`)).toBe(true);
  });
});

test("unused files, exports and packages fire", () => {
  plant([
    ["src/index.ts", "", `export { used } from "./lib/word.ts";`],
    ["src/lib/word.ts", "", `export const used = 1;\nexport const idle = 2;\nexport interface Idle { a: 1 }`],
    ["src/lib/orphan.ts", "", `export const orphan = 1;`],
  ]);
  writeFileSync(join(folder, "package.json"), `{ "name": "planted", "dependencies": { "valibot": "1.5.0" } }`);
  const { status, output } = tool("knip", "--no-progress", "--reporter", "json");
  expect(status).not.toBe(0);
  const names = [...output.matchAll(/"name":"([^"]+)"/g)].map((match) => match[1]);
  expect(names).toEqual(expect.arrayContaining(["idle", "Idle", "valibot"]));
  expect(names).not.toContain("used");
  expect(output).toContain("src/lib/orphan.ts");
});

function use(expression: string): string {
  return `export const planted: unknown = ${expression};`;
}
