import { describe, expect, test } from "vitest";
import { readText, repositoryFiles } from "./repository.ts";

/** What no committed file may hold. Put together here, so that this file does not hold it either. */
const FORBIDDEN: readonly (readonly [what: string, pattern: RegExp])[] = [
  [
    "a path of somebody's machine",
    new RegExp(String.raw`(?<![\w.])/(?:${["work", "root", "home", "Users"].join("|")})/[\w.]`),
  ],
  ["a Windows path", new RegExp(String.raw`\b[A-Z]:\\{1,2}${"Users"}\\`)],
  [
    "a package registry's host",
    new RegExp(
      ["npmjs", "yarnpkg", "pypi", "jfrog", "artifactory"].map((name) => `\\b${name}\\.(?:org|com|io)`).join("|"),
    ),
  ],
  ["a registry setting", new RegExp(`^${"registry"}\\s*=`, "m")],
  ["an address in the lock file", new RegExp(`"${"resolved"}"\\s*:`)],
  ["a private key", new RegExp(`-----BEGIN [A-Z ]*${"PRIVATE"} KEY`)],
];

const BINARY = /\.(png|jpe?g|gif|ico|woff2?|wasm)$/;

const findings = (path: string, text: string): string[] =>
  FORBIDDEN.filter(([, pattern]) => pattern.test(text)).map(([what]) => `${path}: ${what}`);

describe("the repository", () => {
  const files = repositoryFiles().filter((path) => !BINARY.test(path));

  test("is seen", () => {
    expect(files).toEqual(expect.arrayContaining(["package.json", "package-lock.json", ".npmrc", "src/errors.ts"]));
  });

  test("holds no machine's paths, no registry's addresses, no private keys", () => {
    expect(files.flatMap((path) => findings(path, readText(path)))).toEqual([]);
  });

  test("ignores what is built or installed", () => {
    expect(files.filter((path) => /^(node_modules|dist|coverage|\.sluice)\//.test(path))).toEqual([]);
  });
});

describe("a planted line fires", () => {
  test.each([
    ["a path of somebody's machine", ["", "work", "main", "src"].join("/")],
    ["a path of somebody's machine", `"${["", "root", ".npm"].join("/")}"`],
    ["a path of somebody's machine", `file://${["", "home", "ada", "sluice"].join("/")}`],
    ["a Windows path", ["C:", "Users", "ada"].join("\\")],
    ["a package registry's host", `https://registry.${["npmjs", "org"].join(".")}/x`],
    ["a registry setting", ["registry", "https://example.org/"].join("=")],
    ["an address in the lock file", `  "${["reso", "lved"].join("")}": "https://example.org/a.tgz",`],
    ["a private key", ["-----BEGIN", "PRIVATE", "KEY-----"].join(" ")],
  ])("%s: %s", (what, line) => {
    expect(findings("file", `before\n${line}\nafter\n`)).toEqual([`file: ${what}`]);
  });

  test.each([["adapters/node/work/main.ts"], ["https://example.org/work/shop"], [`"integrity": "sha512-a/root/b=="`]])(
    "an innocent line does not: %s",
    (line) => {
      expect(findings("file", line)).toEqual([]);
    },
  );
});
