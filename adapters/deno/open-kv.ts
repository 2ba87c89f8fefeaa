import { SluiceError } from "../../src/index.ts";
import type { DenoKv } from "./kv-types.ts";
import { isLocked } from "./is-locked.ts";
import { isGranted } from "./permissions.ts";
import type { DenoRuntime } from "./runtime.ts";

/**
 * Opens the database that SLUICE_STATE names, or Deno's own: on Deno Deploy the project's, elsewhere one that Deno keeps for
 * the main module. `isShared`: other machines may use it too. Throws `config_invalid` that says what to do.
 */
export async function openKv(
  runtime: DenoRuntime,
  { path, isShared }: { readonly path: string | undefined; readonly isShared: boolean },
): Promise<DenoKv> {
  if (runtime.openKv === undefined) {
    throw new SluiceError(
      "config_invalid",
      'Deno KV, which keeps the ledger, is not there: start with --unstable-kv, or add "unstable": ["kv", "cron"] to deno.json.',
    );
  }
  const file = path === undefined || path === ":memory:" || /^https?:/.test(path) ? null : path;
  if (file !== null) await checkFile(runtime, file);
  try {
    const kv = await runtime.openKv(path);
    // A file that cannot be written is told now, not by the first call. A database elsewhere may be away for a moment.
    if (!isShared) await kv.atomic().set(["sluice", "opened"], Date.now()).commit();
    return kv;
  } catch (cause) {
    throw unusable(path ?? "Deno's own", cause);
  }
}

async function checkFile(runtime: DenoRuntime, path: string): Promise<void> {
  const missing = (["read", "write"] as const).filter((name) => !isGranted(runtime, { name, path }));
  if (missing.length > 0) {
    const flags = missing.map((name) => `--allow-${name}=${path}`).join(" ");
    throw new SluiceError("config_invalid", `SLUICE_STATE: ${path} may not be used; start with ${flags}.`);
  }
  const folder = /^(.+)[\\/]/.exec(path)?.[1];
  if (folder === undefined || !isGranted(runtime, { name: "write", path: folder })) return;
  await runtime.mkdir(folder, { recursive: true }).catch((cause: unknown) => {
    throw unusable(path, cause);
  });
}

function unusable(path: string, cause: unknown): SluiceError {
  const why = cause instanceof Error ? cause.message : String(cause);
  const what = isLocked(cause)
    ? "end the other program that holds it, or name another path"
    : "name a writable path, or move the file away to start anew";
  return new SluiceError("config_invalid", `SLUICE_STATE: the database ${path} cannot be used (${why}); ${what}.`, {
    cause,
  });
}
