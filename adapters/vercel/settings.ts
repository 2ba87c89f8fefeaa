import { type Clock, type Env, type Kv, type Ledger, sliceLedger } from "../../src/index.ts";
import { upstashKv } from "../unstorage/upstash-kv.ts";
import { upstashLedger } from "../upstash/index.ts";

export interface Stores {
  readonly ledger: Ledger;
  readonly kv: Kv | undefined;
  readonly warnings: readonly string[];
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
export function findStores(env: Env, isolates: number, clock: Clock): Stores {
  const now = (): number => clock.now();
  for (const [urlName, tokenName] of NAMES) {
    const [url, token] = [env[urlName] ?? "", env[tokenName] ?? ""];
    if (url === "" && token === "") continue;
    return { ledger: upstashLedger({ url, token }), kv: upstashKv({ url, token }, now), warnings: [] };
  }
  const warning =
    `There is no database, so instances know nothing of each other and spend slices: ${LINES}. ` +
    `Until then each instance spends 1/${2 * isolates} of every ceiling.`;
  return { ledger: sliceLedger(now, isolates, () => clock.random()), kv: undefined, warnings: [warning] };
}
