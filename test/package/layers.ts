import { posix } from "node:path";
import type { ModuleImport } from "./parse-module.ts";

/** One file of `src` or `adapters`: its path from the root with forward slashes, and what it imports. */
export interface LayeredFile {
  readonly path: string;
  readonly imports: readonly ModuleImport[];
}

export interface Violation {
  readonly path: string;
  readonly specifier: string;
  readonly why: string;
}

type Layer =
  | "lib"
  | "errors"
  | "ports"
  | "ledger"
  | "engine"
  | "gas"
  | "callers"
  | "upstreams"
  | "jobs"
  | "http"
  | "top";

const ENGINE_AND_BELOW = ["engine", "ledger", "ports", "errors", "lib"] as const;
const BELOW_HTTP = ["jobs", "upstreams", "callers", "gas", ...ENGINE_AND_BELOW] as const;

/** DESIGN's "Who may import whom": what each layer may import besides itself. */
const MAY_IMPORT: Record<Layer, readonly Layer[]> = {
  lib: [],
  errors: ["lib"],
  ports: [],
  ledger: ["lib", "ports"],
  engine: ["ledger", "ports", "errors", "lib"],
  gas: ENGINE_AND_BELOW,
  callers: ["gas", ...ENGINE_AND_BELOW],
  upstreams: ["gas", ...ENGINE_AND_BELOW],
  jobs: ["upstreams", "callers", "gas", ...ENGINE_AND_BELOW],
  http: BELOW_HTTP,
  top: ["http", ...BELOW_HTTP],
};

/** Files right in `src`; every other file there lies in a folder of its layer's name. */
const TOP_FILES = new Set([
  "src/config.ts",
  "src/sluice.ts",
  "src/index.ts",
  "src/judge.ts",
  "src/version.ts",
  "src/deploy.ts",
  "src/env-config.ts",
  "src/event-log.ts",
]);
const FOLDERS = new Set<string>(Object.keys(MAY_IMPORT).filter((layer) => layer !== "top" && layer !== "errors"));

/** Which packages the core may use, and where. */
const SOURCE_PACKAGES: Record<string, (path: string) => boolean> = {
  "itty-router": (path) => path.startsWith("src/http/"),
  valibot: (path) => path === "src/config.ts",
};

interface AdapterRules {
  /** Package names; `node:*` stands for all of Node's own modules. */
  readonly packages: readonly string[];
  /** Store adapters that it may use. */
  readonly stores: readonly string[];
}

/** An adapter without a line here is a violation: adding one is a decision. */
const ADAPTERS: Record<string, AdapterRules> = {
  memory: { packages: [], stores: [] },
  // Computed: the module that SLUICE_CONFIG names.
  node: { packages: ["node:*", "srvx", "(computed)"], stores: ["sqlite", "redis", "unstorage"] },
  bun: { packages: ["bun", "bun:*"], stores: ["sqlite", "redis", "unstorage"] },
  deno: { packages: [], stores: ["unstorage"] },
  cloudflare: { packages: ["cloudflare:*"], stores: ["unstorage"] },
  vercel: { packages: [], stores: ["upstash", "unstorage"] },
  sqlite: { packages: ["node:*", "bun:sqlite"], stores: [] },
  redis: { packages: [], stores: [] },
  upstash: { packages: ["@upstash/redis"], stores: ["redis"] },
  unstorage: { packages: ["unstorage"], stores: [] },
  hono: { packages: ["hono"], stores: [] },
  viem: { packages: ["viem"], stores: [] },
  cli: { packages: ["node:*", "citty"], stores: [] },
};

const UPSTREAM = /^src\/upstreams\/([^/]+)\//;
const ADAPTER = /^adapters\/([^/]+)\//;
/** What the package exports besides `src/index.ts`: the opt-in entries. */
const ENTRY = /^src\/(index\.ts$|(upstreams\/[^/]+|callers|gas|http\/dashboard)\/index\.ts$)/;

const isRelative = (specifier: string): boolean => specifier.startsWith(".");

function layerOf(path: string): Layer | null {
  if (path === "src/errors.ts") return "errors";
  if (TOP_FILES.has(path)) return "top";
  const folder = path.split("/")[1];
  return path.split("/").length > 2 && folder !== undefined && FOLDERS.has(folder) ? (folder as Layer) : null;
}

function packageName(specifier: string): string {
  if (specifier.startsWith("(computed)")) return "(computed)";
  const parts = specifier.split("/");
  return specifier.startsWith("@") ? parts.slice(0, 2).join("/") : (parts[0] ?? specifier);
}

function judgeSource(path: string, { specifier, typeOnly }: ModuleImport): string | null {
  if (!isRelative(specifier)) {
    const name = packageName(specifier);
    const allowed = SOURCE_PACKAGES[name];
    if (allowed === undefined) return `src may not use the package ${name}`;
    return allowed(path) ? null : `${name} is not allowed in this place`;
  }
  const target = posix.join(posix.dirname(path), specifier);
  if (!target.startsWith("src/")) return "src imports nothing outside src";
  const from = layerOf(path);
  const to = layerOf(target);
  if (from === null) return `${path} belongs to no layer`;
  if (to === null) return `${target} belongs to no layer`;
  if (to === "ports" && !typeOnly) return "ports hold types only: import type";
  if (from === to) {
    const mine = UPSTREAM.exec(path)?.[1];
    const theirs = UPSTREAM.exec(target)?.[1];
    return mine === theirs ? null : "upstreams never import each other";
  }
  return MAY_IMPORT[from].includes(to) ? null : `${from} may not import ${to}`;
}

function judgeAdapter(path: string, { specifier, typeOnly }: ModuleImport): string | null {
  const adapter = ADAPTER.exec(path)?.[1];
  const rules = adapter === undefined ? undefined : ADAPTERS[adapter];
  if (adapter === undefined || rules === undefined) return `${path} belongs to no adapter of the table`;
  if (!isRelative(specifier)) {
    const name = packageName(specifier);
    const scheme = /^[a-z]+:/.exec(specifier)?.[0];
    return rules.packages.includes(name) || (scheme !== undefined && rules.packages.includes(`${scheme}*`))
      ? null
      : `the adapter ${adapter} may not use ${name}`;
  }
  const target = posix.join(posix.dirname(path), specifier);
  if (target.startsWith("src/")) {
    if (ENTRY.test(target) || (typeOnly && target.startsWith("src/ports/"))) return null;
    return "an adapter imports the package's entries only (or types of src/ports)";
  }
  const other = ADAPTER.exec(target)?.[1];
  if (other === undefined) return "an adapter imports only src and adapters";
  if (other === adapter || rules.stores.includes(other)) return null;
  return `the adapter ${adapter} may not import the adapter ${other}`;
}

/** Every import that breaks the table above. Files outside `src` and `adapters` are none of its business. */
export function layerViolations(files: readonly LayeredFile[]): Violation[] {
  const violations: Violation[] = [];
  for (const { path, imports } of files) {
    const judge = path.startsWith("src/") ? judgeSource : path.startsWith("adapters/") ? judgeAdapter : null;
    if (judge === null) continue;
    if (judge === judgeSource && layerOf(path) === null) {
      violations.push({ path, specifier: "", why: `${path} belongs to no layer` });
      continue;
    }
    for (const entry of imports) {
      const why = judge(path, entry);
      if (why !== null) violations.push({ path, specifier: entry.specifier, why });
      else if (isRelative(entry.specifier) && !entry.specifier.endsWith(".ts")) {
        violations.push({ path, specifier: entry.specifier, why: "relative imports end in .ts" });
      }
    }
  }
  return violations;
}
