import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { printTable } from "../bench/support/print-table.ts";
import { root } from "./repository.ts";

/** A bundle for a Worker, and what it may weigh. */
export interface SizeCase {
  readonly name: string;
  readonly source: string;
  /** Bytes, minified and gzipped. */
  readonly ceiling: number;
  readonly why: string;
  /** What the bundle must not hold, beside `NOT_IN_A_WORKER`. */
  readonly without?: readonly RegExp[];
}

export interface Size {
  readonly of: SizeCase;
  readonly minified: number;
  readonly gzipped: number;
  /** Each package in the bundle, by the folder that it comes from. */
  readonly packages: readonly string[];
  /** What is wrong with it, a line each. */
  readonly faults: readonly string[];
}

const KB = 1_000;

/** Names that only another runtime has; they would fail there at the latest. */
const NOT_IN_A_WORKER: readonly RegExp[] = [
  /["'`]node:[\w/]+["'`]/,
  /\bprocess\s*[.[]/,
  // unstorage asks first: `globalThis.Buffer ? Buffer.from(…) : …`.
  /(?<!globalThis\.Buffer\?)(?<!globalThis\.)\bBuffer\b/,
  /\bDeno\b/,
  /\bBun\b/,
];

/** Words that stand in Etherscan's protocol and nowhere else. */
const OF_ETHERSCAN: readonly RegExp[] = [/api\.etherscan\.io/, /ETHERSCAN_/, /calls per sec/, /\bapikey\b/];

const SLUICE = JSON.stringify("./src/index.ts");

export const SIZE_CASES: readonly SizeCase[] = [
  {
    name: "etherscan Worker",
    source: `
      import { defineSluice, etherscan } from ${SLUICE};
      import { cloudflare } from "./adapters/cloudflare/index.ts";
      export { SluiceLedger } from "./adapters/cloudflare/index.ts";
      export default cloudflare(defineSluice((env) => ({ upstreams: { etherscan: etherscan({ keys: env.ETHERSCAN_KEYS }) } })));`,
    ceiling: 45 * KB,
    why: "etherscan + evm have 60 KB (DESIGN number 5), and evm is to come; unstorage is 4 KB of this",
  },
  {
    name: "etherscan without a platform",
    source: `
      import { createSluice, etherscan } from ${SLUICE};
      import { memoryPlatform } from "./adapters/memory/index.ts";
      export const open = (keys, clock, transport) =>
        createSluice({ upstreams: { etherscan: etherscan({ keys }) } }, memoryPlatform({ clock, transport }));`,
    ceiling: 40 * KB,
    why: "core and one protocol, which every platform has to carry",
  },
  {
    name: "core without a protocol",
    source: `export { createSluice, defineProtocol } from ${SLUICE};`,
    ceiling: 30 * KB,
    why: "whoever brings a protocol of their own does not carry Etherscan's",
    without: OF_ETHERSCAN,
  },
  {
    name: "sluice/etherscan alone",
    source: `export * from "./src/upstreams/etherscan/index.ts";`,
    ceiling: 11 * KB,
    why: "the protocol without the engine, for those who judge answers only",
  },
];

/** Packages that the core must not bring along. */
const NEVER = ["srvx", "hono"];
/** Packages of which a second copy would be nothing but weight. */
const ONCE = ["valibot", "itty-router"];

interface Metafile {
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly outputs: Readonly<
    Record<string, { readonly inputs: Readonly<Record<string, { readonly bytesInOutput: number }>> }>
  >;
}

/** Bundles a case with esbuild as wrangler does, and looks at what came out. */
export function measureSize(sizeCase: SizeCase): Size {
  const { source, ceiling, without = [] } = sizeCase;
  const { text, packages } = bundle(source);
  const gzipped = gzipSync(text, { level: 9 }).length;
  const faults: string[] = [];
  if (gzipped > ceiling) faults.push(`has ${gzipped} bytes gzipped; ${ceiling} are the most`);
  for (const pattern of [...NOT_IN_A_WORKER, ...without]) {
    const found = pattern.exec(text);
    if (found !== null)
      faults.push(`holds ${JSON.stringify(text.slice(Math.max(0, found.index - 30), found.index + 30))}`);
  }
  const copiesOf = (name: string): string[] => packages.filter((path) => path.endsWith(`node_modules/${name}`));
  for (const name of NEVER) if (copiesOf(name).length > 0) faults.push(`holds the package ${name}`);
  for (const name of ONCE) {
    const copies = copiesOf(name);
    if (copies.length > 1) faults.push(`holds ${name} ${copies.length} times: ${copies.join(", ")}`);
  }
  return { of: sizeCase, minified: Buffer.byteLength(text), gzipped, packages, faults };
}

function bundle(source: string): { text: string; packages: readonly string[] } {
  const folder = mkdtempSync(join(tmpdir(), "sluice-size-"));
  try {
    const [out, meta] = [join(folder, "worker.js"), join(folder, "meta.json")];
    const flags = [
      "--bundle",
      "--format=esm",
      "--minify",
      "--target=es2022",
      "--conditions=workerd,worker,browser",
      "--external:cloudflare:*",
      "--log-level=warning",
      `--outfile=${out}`,
      `--metafile=${meta}`,
    ];
    // esbuild comes with wrangler; its bin is a script where npm did not run its install script.
    const esbuild = join(root, "node_modules", "esbuild", "bin", "esbuild");
    execFileSync(process.execPath, [esbuild, ...flags], {
      cwd: root,
      input: source,
      stdio: ["pipe", "ignore", "pipe"],
    });
    const { outputs } = JSON.parse(readFileSync(meta, "utf8")) as Metafile;
    const files = Object.values(outputs).flatMap(({ inputs }) =>
      Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
    );
    const folders = files.map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]);
    return {
      text: readFileSync(out, "utf8"),
      packages: [...new Set(folders.filter((found) => found !== undefined))].sort(),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** `npm run size` */
function main(): void {
  const sizes = SIZE_CASES.map(measureSize);
  printTable(
    ["Worker bundle", "minified", "gzipped", "ceiling", "verdict"],
    sizes.map(({ of, minified, gzipped, faults }) => [
      of.name,
      kilobytes(minified),
      kilobytes(gzipped),
      kilobytes(of.ceiling),
      faults.length === 0 ? "met" : "missed",
    ]),
  );
  process.stdout.write("\n");
  for (const { of, packages, faults } of sizes) {
    const names = packages.map((folder) => folder.replace(/^.*node_modules\//, "")).join(", ");
    process.stdout.write(`${of.name}: ${of.why}; packages: ${names || "none"}\n`);
    for (const fault of faults) process.stdout.write(`  ${fault}\n`);
  }
  if (sizes.some(({ faults }) => faults.length > 0)) process.exitCode = 1;
}

const kilobytes = (bytes: number): string => `${(bytes / KB).toFixed(1)} KB`;

if (import.meta.main) main();
