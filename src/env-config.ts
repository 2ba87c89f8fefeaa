import { type Env, parseWholeNumber, type SluiceConfig } from "./config.ts";
import type { EtherscanFace } from "./upstreams/etherscan/face.ts";
import type { EtherscanCall } from "./upstreams/etherscan/call.ts";
import { etherscan } from "./upstreams/etherscan/index.ts";
import type { UpstreamDefinition } from "./engine/definition.ts";

/**
 * The configuration that the environment alone gives (README, "Settings"): `ETHERSCAN_KEYS`, `ETHERSCAN_BASE_URLS`,
 * `ETHERSCAN_KEY_SLICE`, `ETHERSCAN_KEY_GROUPS`, `UPSTREAM_TIMEOUT` (ms), `SLUICE_TOKENS`, `SLUICE_ADMIN_TOKEN`.
 * Empty variables count as unset. Throws `config_invalid`.
 */
export function configFromEnv(env: Env): SluiceConfig<{ etherscan: UpstreamDefinition<EtherscanCall, EtherscanFace> }> {
  const tidy = tidyEnv(env);
  const get = (name: string): string | undefined => tidy[name];
  const timeout = get("UPSTREAM_TIMEOUT");
  const tokens = get("SLUICE_TOKENS");
  const admin = get("SLUICE_ADMIN_TOKEN");
  return {
    upstreams: {
      etherscan: etherscan({
        keys: get("ETHERSCAN_KEYS"),
        baseUrls: get("ETHERSCAN_BASE_URLS"),
        slice: get("ETHERSCAN_KEY_SLICE"),
        groups: get("ETHERSCAN_KEY_GROUPS"),
        timeoutMs: timeout === undefined ? undefined : parseWholeNumber("UPSTREAM_TIMEOUT", timeout, 1, 600_000),
      }),
    },
    callers: tokens === undefined ? undefined : { tokens },
    admin: admin === undefined ? undefined : { token: admin },
  };
}

/** An environment without the space that pasting brings, and without what is empty, which counts as unset. */
export function tidyEnv(env: Env): Env {
  const tidy = Object.entries(env).map(([name, value]) => [name, value?.trim()] as const);
  return Object.fromEntries(tidy.filter(([, value]) => value !== undefined && value !== ""));
}

/** A shorter value would be found by chance in innocent text. */
const SHORTEST_SECRET = 8;

/** What an environment holds that is probably a secret: for redacting the errors of a configuration that fails. */
export function secretsOfEnv(env: Env): string[] {
  return Object.entries(env)
    .filter(([name]) => /KEY|TOKEN|SECRET|PASSWORD/i.test(name) && !/_(GROUPS|SLICE)$/.test(name))
    .flatMap(([, value = ""]) => [value, ...value.split(/[\s,]+/)])
    .filter((value) => value.length >= SHORTEST_SECRET);
}
