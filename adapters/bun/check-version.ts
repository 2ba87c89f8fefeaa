import { SluiceError } from "../../src/index.ts";

/** The oldest Bun that the gateway was seen to work on. */
const NEEDED = "1.2.23";

/** Throws `config_invalid` for a Bun that is too old. */
export function checkVersion(version: string): void {
  if (order(version) >= order(NEEDED)) return;
  throw new SluiceError(
    "config_invalid",
    `Bun ${version} is too old: bun:sqlite and Bun.RedisClient are what the ledger needs from ${NEEDED} on; run "bun upgrade".`,
  );
}

function order(version: string): number {
  const [major = 0, minor = 0, patch = 0] = (/^\d+\.\d+\.\d+/.exec(version)?.[0] ?? "").split(".").map(Number);
  return (major * 1_000 + minor) * 1_000 + patch;
}
