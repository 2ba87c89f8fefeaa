import { execFile } from "node:child_process";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const NPM_TIMEOUT_MS = 60_000;

export type Peer =
  | { readonly kind: "ready"; readonly module: unknown }
  | { readonly kind: "missing"; readonly why: string };

/**
 * Loads a published package to measure against, without making it a dependency: npm puts it into a temporary folder,
 * once a version, and runs none of its scripts.
 */
export async function installPeer(name: string, version: string): Promise<Peer> {
  try {
    const folder = await ownFolder(`sluice-bench${`/${name}`.replaceAll(/[^a-z0-9]+/g, "-")}-${version}`);
    const home = join(folder, "node_modules", ...name.split("/"));
    if ((await manifest(home))?.version !== version) await npmInstall(folder, `${name}@${version}`);
    const found = await manifest(home);
    if (found === null) return { kind: "missing", why: "npm installed something else" };
    const module: unknown = await import(pathToFileURL(join(home, found.main)).href);
    return { kind: "ready", module };
  } catch (error) {
    return { kind: "missing", why: reasonOf(error) };
  }
}

/** A folder that nobody else can have filled: what lies in it is run. */
async function ownFolder(name: string): Promise<string> {
  const folder = join(tmpdir(), `${name}-${process.getuid?.() ?? "user"}`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { uid, mode } = await stat(folder);
  if (process.getuid !== undefined && (uid !== process.getuid() || (mode & 0o022) !== 0)) {
    throw new Error(`the folder ${name} in the temporary folder belongs to somebody else`);
  }
  await writeFile(join(folder, "package.json"), '{ "private": true }\n');
  return folder;
}

async function npmInstall(folder: string, what: string): Promise<void> {
  const args = [
    "install",
    "--prefix",
    folder,
    "--no-save",
    "--ignore-scripts",
    "--no-package-lock",
    "--loglevel=error",
    what,
  ];
  const options = { cwd: folder, timeout: NPM_TIMEOUT_MS };
  // Under `npm run` npm tells its own script: that spares the search for a shell on Windows.
  const script = process.env["npm_execpath"];
  if (script?.endsWith(".js")) await run(process.execPath, [script, ...args], options);
  else await run("npm", args, options);
}

async function manifest(home: string): Promise<{ version: string; main: string } | null> {
  let text: string;
  try {
    text = await readFile(join(home, "package.json"), "utf8");
  } catch {
    return null;
  }
  const found: unknown = JSON.parse(text);
  if (typeof found !== "object" || found === null || !("version" in found) || !("main" in found)) return null;
  return typeof found.version === "string" && typeof found.main === "string"
    ? { version: found.version, main: found.main }
    : null;
}

/** npm's code or exit, never its words: they hold addresses and paths. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!("stderr" in error) || typeof error.stderr !== "string") return error.message;
  const code = /npm (?:error|ERR!) code (\w+)/.exec(error.stderr)?.[1];
  return `npm could not install it (${code ?? ("code" in error ? String(error.code) : "no code")})`;
}
