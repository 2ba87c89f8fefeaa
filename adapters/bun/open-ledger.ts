import { type Env, type Ledger, SluiceError } from "../../src/index.ts";
import { redisLedger } from "../redis/index.ts";
import { connectRedis, type LastingConnection } from "./redis-connection.ts";
import type { BunRuntime } from "./runtime.ts";
import { sqliteLedger } from "./sqlite-ledger.ts";

export interface OpenedLedger {
  readonly ledger: Ledger;
  /** Whether other machines may share it. */
  readonly isShared: boolean;
}

/**
 * The ledger in the Redis of REDIS_URL, or in the file of SLUICE_STATE. Throws `config_invalid` that says what to do; a Redis
 * that is away is an outage, told by `print`.
 */
export function openLedger(runtime: BunRuntime, env: Env, print: (line: string) => void): OpenedLedger {
  const { REDIS_URL: url, SLUICE_STATE: path } = env;
  if (url === undefined) return { ledger: sqliteLedger({ path: path ?? ".sluice/state.db" }), isShared: false };
  if (path !== undefined) {
    throw new SluiceError("config_invalid", "SLUICE_STATE, REDIS_URL: one of them holds the ledger; unset the other.");
  }
  const connection = connect(runtime, url);
  void connection.first.then((fault) => {
    if (fault === undefined) return;
    print(
      `sluice: REDIS_URL: Redis cannot be reached (${fault}); check the host, port, user and password. Until it answers, this process spends no more than its share of each key.`,
    );
  });
  return { ledger: redisLedger({ connection, close: () => connection.close() }), isShared: true };
}

function connect(runtime: BunRuntime, url: string): LastingConnection {
  try {
    return connectRedis(runtime, url);
  } catch (cause) {
    // Without Bun's own words: they may repeat the password.
    throw new SluiceError(
      "config_invalid",
      "REDIS_URL: is no address of a Redis server; it begins with redis: (rediss: for TLS), as redis://127.0.0.1:6379 does.",
      { cause },
    );
  }
}
