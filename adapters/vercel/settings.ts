import { type Env, type Ledger, sliceLedger, type Kv } from "../../src/index.ts";
import { upstashKv } from "../unstorage/upstash-kv.ts";
import { upstashLedger } from "../upstash/index.ts";

export interface Stores {
  readonly ledger: Ledger;
  readonly kv: Kv | undefined;
  readonly warnings: readonly string[];
  /** What must never be shown. */
  readonly secrets: readonly string[];
}

/** The variables of a database, by the names that Upstash gives them and by those of Vercel's marketplace. */
const NAMES = [
  ["UPSTASH_REDIS_REST_URL", "UPSTASH_REDIS_REST_TOKEN"],
  ["KV_REST_API_URL", "KV_REST_API_TOKEN"],
] as const;

const LINES =
  "connect Upstash Redis to the project (`vercel integration add upstash`), or set both by " +
  "`vercel env add UPSTASH_REDIS_REST_URL` and `vercel env add UPSTASH_REDIS_REST_TOKEN`";

/** The stores that the environment names. Throws `config_invalid` for a URL or token that cannot be. */
export function findStores(env: Env, isolates: number, now: () => number): Stores {
  for (const [urlName, tokenName] of NAMES) {
    const [url, token] = [env[urlName] ?? "", env[tokenName] ?? ""];
    if (url === "" && token === "") continue;
    return {
      ledger: upstashLedger({ url, token }),
      kv: upstashKv({ url, token }, now),
      warnings: [],
      secrets: [token],
    };
  }
  const warning =
    `there is no database, so instances know nothing of each other and each takes 1/${isolates} of half of every ` +
    `ceiling: ${LINES}.`;
  return { ledger: sliceLedger(now, isolates), kv: undefined, warnings: [warning], secrets: [] };
}
