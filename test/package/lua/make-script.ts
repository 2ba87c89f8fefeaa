import { execFileSync, type ExecFileSyncOptions } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * `npm run lua`: translates the reducer of src/ledger to Lua and writes `adapters/redis/script.ts`, the ledger as one
 * Redis script. A store that is a translation cannot differ by oversight. The translator needs an older TypeScript than
 * this project has, so it is installed into a folder of its own, for this command alone; what it made is checked in,
 * and a test compares `sourceDigest` with the one that the file names.
 */
const root = resolve(import.meta.dirname, "../../..");
const target = join(root, "adapters/redis/script.ts");
const TRANSLATOR: readonly string[] = ["typescript-to-lua@1.37.1", "typescript@6.0.2"];
/** What the reducer is made of, from the root. */
const SOURCES: readonly string[] = [
  "src/lib/fade.ts",
  ...["bucket", "coincidence", "exchange", "gate", "health", "settle", "time", "unused", "window"].map(
    (name) => `src/ledger/${name}.ts`,
  ),
  "src/ports/ledger.ts",
  "src/ports/state.ts",
  "test/package/lua/host.lua",
];

/** Names the state of the sources that the script was made from. */
export function sourceDigest(): string {
  const hash = createHash("sha256");
  for (const path of SOURCES) hash.update(`${path}\n${readFileSync(join(root, path), "utf8")}\n`);
  return hash.digest("hex").slice(0, 16);
}

const CONFIG = {
  compilerOptions: {
    target: "ESNext",
    lib: ["ESNext"],
    types: [],
    strict: true,
    module: "esnext",
    moduleResolution: "bundler",
    rootDir: "src",
    outDir: "out",
    removeComments: true,
  },
  tstl: {
    luaTarget: "5.1",
    luaBundle: "reducer.lua",
    luaBundleEntry: "src/main.ts",
    noHeader: true,
    luaLibImport: "require-minimal",
  },
  files: ["src/main.ts"],
};

function translate(folder: string): string {
  for (const path of SOURCES.filter((source) => source.endsWith(".ts"))) {
    const text = readFileSync(join(root, path), "utf8")
      // The translator knows no `#private` names and no `.ts` in an import.
      .replaceAll(/#(?=[a-z])/g, "_")
      .replaceAll(/from "(\.[^"]*)\.ts"/g, 'from "$1"');
    const copy = join(folder, path);
    mkdirSync(join(copy, ".."), { recursive: true });
    writeFileSync(copy, text);
  }
  const main = [
    'export { EMPTY_HEAD, exchange, HORIZON_MS } from "./ledger/exchange";',
    'export { isUnused } from "./ledger/unused";',
  ];
  writeFileSync(join(folder, "src/main.ts"), main.join("\n"));
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(CONFIG));
  writeFileSync(join(folder, "package.json"), "{}");
  const at: ExecFileSyncOptions = { cwd: folder, stdio: ["ignore", "inherit", "inherit"] };
  execFileSync("npm", ["install", "--no-audit", "--no-fund", ...TRANSLATOR], at);
  execFileSync(join(folder, "node_modules/.bin/tstl"), ["-p", "tsconfig.json"], at);
  return readFileSync(join(folder, "out/reducer.lua"), "utf8");
}

/** Redis knows no `require`, not even to ask for. */
function withoutRequire(lua: string): string {
  const asked = "local ____originalRequire = require\n";
  if (!lua.includes(asked)) throw new Error("The translator's output has changed: look at its first lines.");
  return lua.replace(asked, "local ____originalRequire = nil\n");
}

function assemble(reducer: string): string {
  const host = readFileSync(join(root, "test/package/lua/host.lua"), "utf8");
  return [`local reducer = (function(...)`, reducer, `end)()`, host]
    .join("\n")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("--"))
    .join("\n");
}

function write(script: string): void {
  const sha = createHash("sha1").update(script).digest("hex");
  const literal = script.replaceAll("\\", "\\\\").replaceAll("`", "\\`").replaceAll("${", "\\${");
  const text = `// Made by \`npm run lua\` from src/ledger and test/package/lua/host.lua (${sourceDigest()}). Not to be edited.
/** The name by which Redis knows the script once it has seen it. */
export const SCRIPT_SHA = "${sha}";
export const SCRIPT: string = \`${literal}\`;
`;
  writeFileSync(target, text);
  process.stdout.write(`adapters/redis/script.ts: ${script.length} characters of Lua, sha1 ${sha}\n`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const folder = mkdtempSync(join(tmpdir(), "sluice-lua-"));
  try {
    write(assemble(withoutRequire(translate(folder))));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
