import { execFileSync, spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, posix } from "node:path";
import { build } from "esbuild";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startWorkerd } from "../fixtures/workerd.ts";
import { parseModule } from "./parse-module.ts";
import { readText, root } from "./repository.ts";

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

interface DenoManifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly exports: Readonly<Record<string, string>>;
  readonly imports: Readonly<Record<string, string>>;
}

const npm = JSON.parse(readText("package.json")) as Manifest;
const deno = JSON.parse(readText("deno.json")) as DenoManifest;
const entries = Object.entries(deno.exports);
const outputName = (key: string): string => (key === "." ? "index" : key.slice("./".length));
const specifierOf = (key: string): string => posix.join(npm.name, key);

/** Entries that stand on `node:sqlite`, which Node has from 22.5 on. */
const NEEDS_NODE_24 = new Set(["./node", "./sqlite"]);
/** Entries that use files, as Bun has them too: of Node's modules these alone, which every Node has. */
const NEEDS_FILES: ReadonlyMap<string, readonly string[]> = new Map([["./bun", ["node:fs", "node:path"]]]);
/** Entries that stand on a module which only workerd has. */
const NEEDS_WORKERD = new Set(["./cloudflare"]);
const forNode = entries.filter(([key]) => !NEEDS_WORKERD.has(key));

describe("package.json and deno.json", () => {
  test("are of one name, version and licence", () => {
    expect(deno.name).toBe(`@${npm.name}/${npm.name}`);
    expect(deno.version).toBe(npm.version);
    expect(deno.license).toBe(npm.license);
  });

  test("export the same entries", () => {
    const { "./package.json": _self, ...exported } = npm.exports;
    // A configuration module in a clone imports "sluice" before anything is built: `npm start` sets this condition.
    const expected = entries.map(([key, source]) => [
      key,
      { "sluice-source": source, types: `./dist/${outputName(key)}.d.ts`, default: `./dist/${outputName(key)}.js` },
    ]);
    expect(exported).toEqual(Object.fromEntries(expected));
  });

  test("point to sources that exist", () => {
    expect(entries.map(([, source]) => source).filter((source) => !existsSync(join(root, source)))).toEqual([]);
  });

  test("name the same packages at the same versions", () => {
    const versions = { ...npm.devDependencies, ...npm.dependencies };
    const expected = Object.keys({ ...npm.dependencies, ...npm.peerDependencies })
      .sort()
      .map((name) => [name, `npm:${name}@${versions[name]}`]);
    expect(deno.imports).toEqual(Object.fromEntries(expected));
  });

  test("pin every version exactly", () => {
    const loose = Object.entries({ ...npm.devDependencies, ...npm.dependencies }).filter(
      ([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version),
    );
    expect(loose).toEqual([]);
  });
});

/** The names that one module exports, star re-exports followed; types are marked. */
function exportedNames(path: string): string[] {
  return parseModule(path, readText(path)).exports.flatMap(({ name, typeOnly, from }) => {
    if (name === "*" && from !== null) return exportedNames(posix.join(posix.dirname(path), from));
    return [typeOnly ? `type ${name}` : name];
  });
}

// A changed list is a change of the public interface: run with `-u`, and write it into the CHANGELOG.
test("the public names are these", async () => {
  const names = entries.map(([key, source]) => [key, exportedNames(posix.normalize(source)).sort()]);
  const text = `${JSON.stringify(Object.fromEntries(names), null, 2)}\n`;
  await expect(text).toMatchFileSnapshot("exports.snapshot.json");
});

describe("the built package", { timeout: 60_000 }, () => {
  let folder = "";
  let installed = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "sluice-package-"));
    installed = join(folder, "node_modules", npm.name);
    mkdirSync(installed, { recursive: true });
    run(join(root, "node_modules/.bin/tsdown"), ["--out-dir", join(installed, "dist"), "--logLevel", "warn"], root);
    for (const file of ["package.json", "LICENSE", "CHANGELOG.md"])
      copyFileSync(join(root, file), join(installed, file));
    if (existsSync(join(root, "README.md"))) copyFileSync(join(root, "README.md"), join(installed, "README.md"));
    for (const name of Object.keys({ ...npm.dependencies, ...npm.peerDependencies })) {
      mkdirSync(dirname(join(folder, "node_modules", name)), { recursive: true });
      symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name));
    }
    writeFileSync(join(folder, "package.json"), `{ "type": "module" }\n`);
  }, 60_000);
  afterAll(() => rmSync(folder, { recursive: true }));

  const filesOf = (ending: string): string[] =>
    readdirSync(join(installed, "dist"), { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(ending));
  const importsOf = (file: string): string[] =>
    parseModule(file, readFileSync(join(installed, "dist", file), "utf8")).imports.map((entry) => entry.specifier);

  /** All packages that an entry brings along, through its chunks. */
  function packagesOf(entry: string): Set<string> {
    const seen = new Set<string>();
    const packages = new Set<string>();
    const visit = (file: string): void => {
      if (seen.has(file)) return;
      seen.add(file);
      for (const specifier of importsOf(file)) {
        if (specifier.startsWith(".")) visit(posix.join(posix.dirname(file), specifier));
        else packages.add(specifier);
      }
    };
    visit(entry);
    return packages;
  }

  test("has the code and the types of every entry", () => {
    for (const [key] of entries) {
      expect(filesOf(".js")).toContain(`${outputName(key)}.js`);
      expect(filesOf(".d.ts")).toContain(`${outputName(key)}.d.ts`);
    }
  });

  test("suits publint", async () => {
    const { messages } = await publint({ pkgDir: installed, pack: false, strict: true });
    expect(messages.map((message) => formatMessage(message, npm, { color: false }))).toEqual([]);
  });

  test("imports nothing that it does not declare", () => {
    const declared = Object.keys({ ...npm.dependencies, ...npm.peerDependencies });
    const others = filesOf(".js")
      .flatMap(importsOf)
      .filter((specifier) => !/^(\.|node:|cloudflare:)/.test(specifier))
      .filter((specifier) => !declared.some((name) => specifier === name || specifier.startsWith(`${name}/`)));
    expect(others).toEqual([]);
  });

  test.each(entries.filter(([key]) => !NEEDS_NODE_24.has(key)).map(([key]) => [key]))(
    "needs nothing of Node's, or files alone, in %s",
    (key) => {
      const packages = [...packagesOf(`${outputName(key)}.js`)];
      const nodes = packages.filter((name) => name.startsWith("node:") || name.startsWith("srvx"));
      expect(nodes.sort()).toEqual(NEEDS_FILES.get(key) ?? []);
    },
  );

  const load = (node: string, key: string): unknown => {
    const code = `import * as all from ${JSON.stringify(specifierOf(key))}; console.log(JSON.stringify(Object.keys(all)));`;
    return JSON.parse(run(node, ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e", code], folder));
  };

  const valuesOf = (source: string): string[] =>
    exportedNames(posix.normalize(source))
      .filter((name) => !name.startsWith("type "))
      .sort();

  test.each(forNode)(`loads %s in Node ${process.versions.node}, with the names of its source`, (key, source) => {
    expect(load(process.execPath, key)).toEqual(valuesOf(source));
  });

  test.each(entries.filter(([key]) => NEEDS_WORKERD.has(key)))(
    "loads %s in workerd, with the names of its source",
    async (key, source) => {
      const code = `import * as all from ${JSON.stringify(specifierOf(key))};
        export default { fetch: () => Response.json(Object.keys(all).sort()) };`;
      const { outputFiles } = await build({
        stdin: { contents: code, resolveDir: folder },
        bundle: true,
        write: false,
        format: "esm",
        platform: "neutral",
        mainFields: ["module", "main"],
        conditions: ["workerd", "worker", "browser"],
        external: ["cloudflare:*"],
      });
      const workerd = await startWorkerd({ script: outputFiles[0]?.text ?? "" });
      try {
        const names: unknown = await (await fetch(workerd.urls[0] ?? "")).json();
        expect(names).toEqual(valuesOf(source));
      } finally {
        await workerd.stop();
      }
    },
  );

  const system = "/usr/bin/node";
  const systemVersion = existsSync(system) ? run(system, ["--version"], root).trim() : "none";
  describe.runIf(/^v2[0-3]\./.test(systemVersion))(`in the system's Node ${systemVersion}`, () => {
    test.each(forNode.filter(([key]) => !NEEDS_NODE_24.has(key)))("loads %s", (key, source) => {
      expect(load(system, key)).toEqual(valuesOf(source));
    });
  });

  /** What the compiler says about a module of a project that has `types` and nothing else. */
  function compile(source: string, types: string, lib: string): string {
    writeFileSync(join(folder, "use.ts"), source);
    const linked = join(folder, "node_modules", types);
    mkdirSync(dirname(linked), { recursive: true });
    symlinkSync(join(root, "node_modules", types), linked);
    const { stdout, stderr } = spawnSync(
      join(root, "node_modules/.bin/tsc"),
      ["--strict", "--noEmit", "--target", "es2024", "--lib", lib, "--module", "nodenext", "--types", types, "use.ts"],
      { cwd: folder, encoding: "utf8", env: environment() },
    );
    rmSync(linked);
    return stdout + stderr;
  }

  test("type-checks in a project that uses every entry", () => {
    const lines = forNode.map(([key], i) => `import * as entry${i} from ${JSON.stringify(specifierOf(key))};`);
    const all = `export const all = [${lines.map((_, i) => `entry${i}`).join(", ")}];`;
    expect(compile(`${lines.join("\n")}\n${all}\n`, "@types/node", "es2024,dom,dom.iterable")).toBe("");
  });

  test("type-checks in a Worker with Cloudflare's own types", () => {
    const source = `
      import { defineSluice, etherscan } from "sluice";
      import { cloudflare, durableLedger, SluiceLedger } from "sluice/cloudflare";
      interface Env { SLUICE_LEDGER: DurableObjectNamespace<SluiceLedger>; SLUICE_KV: KVNamespace; ETHERSCAN_KEYS: string }
      const config = defineSluice((env) => ({ upstreams: { etherscan: etherscan({ keys: env.ETHERSCAN_KEYS }) } }));
      const worker: ExportedHandler<Env> = cloudflare(config);
      export default worker;
      export { SluiceLedger };
      export const ledgerOf = (env: Env) => durableLedger(env.SLUICE_LEDGER, { waitUntil: () => {} });`;
    expect(compile(source, "@cloudflare/workers-types", "es2024")).toBe("");
    // The check would see a mistake.
    expect(compile(source.replace("ExportedHandler<Env>", "string"), "@cloudflare/workers-types", "es2024")).toMatch(
      /^use\.ts\(\d+,\d+\): error TS2322/,
    );
  });
});

function environment(): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${dirname(process.execPath)}:${process.env["PATH"] ?? ""}` };
}

/** Standard output; throws with everything printed when the exit code is not 0. */
function run(command: string, args: readonly string[], cwd: string): string {
  return execFileSync(command, args, { cwd, encoding: "utf8", env: environment(), stdio: ["ignore", "pipe", "pipe"] });
}
