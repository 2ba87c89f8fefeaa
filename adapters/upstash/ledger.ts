import { Redis } from "@upstash/redis";
import { type Ledger, SluiceError } from "../../src/index.ts";
import { redisLedger } from "../redis/index.ts";

export interface UpstashLedgerOptions {
  /** `UPSTASH_REDIS_REST_URL`: https://….upstash.io */
  readonly url: string;
  /** `UPSTASH_REDIS_REST_TOKEN`; not the read-only one. */
  readonly token: string;
  /** What all keys begin with (`sluice`). */
  readonly prefix?: string;
  /** Epoch milliseconds; the server's own clock unless given. For tests. */
  readonly now?: () => number;
}

/**
 * The ledger on Upstash Redis over HTTP: one request an exchange, under contention too. Throws `config_invalid` for a URL
 * or a token that cannot be; an exchange that the token does not allow rejects and says which variable to set.
 */
export function upstashLedger({ url: givenUrl, token: givenToken, ...options }: UpstashLedgerOptions): Ledger {
  // What is pasted often brings a space or a line's end with it.
  const [url, token] = [givenUrl.trim(), givenToken.trim()];
  if (!/^https?:\/\/[^\s/]+\/?$/.test(url)) {
    throw new SluiceError(
      "config_invalid",
      `UPSTASH_REDIS_REST_URL: must be the REST URL of the database, such as https://name.upstash.io${url.startsWith("redis") ? ", not its redis:// one" : ""}.`,
    );
  }
  if (token === "") {
    throw new SluiceError("config_invalid", "UPSTASH_REDIS_REST_TOKEN: set it to the database's REST token.");
  }
  const redis = new Redis({
    url,
    token,
    // By then the pool has given up on the answer long since.
    signal: () => AbortSignal.timeout(ABANDON_MS),
    // The pool decides when to try again; a client that waits in between would hold every call.
    retry: false,
    enableAutoPipelining: false,
    automaticDeserialization: false,
    // Every exchange writes, and sees what it must see: there is nothing to synchronise.
    readYourWrites: false,
    enableTelemetry: false,
  });
  return redisLedger({
    ...options,
    connection: {
      async send(command, [script = "", , rows = "", versions = "", ...args]) {
        const keys = [rows, versions];
        try {
          return await (command === "EVALSHA" ? redis.evalsha(script, keys, args) : redis.eval(script, keys, args));
        } catch (error) {
          throw explained(error, token);
        }
      },
    },
  });
}

const ABANDON_MS = 3_000;

/** What Upstash answers, with what to do about it. The client's errors repeat the whole command. */
function explained(error: unknown, token: string): Error {
  const text = `${(error instanceof Error ? error.message : String(error)).split(", command was:")[0] ?? ""}${codeOf(error)}`;
  const said = text.replaceAll(token, "…").slice(0, 200);
  if (/WRONGPASS|unauthori[sz]ed|invalid token|\b401\b/i.test(said)) {
    return new Error(`Upstash refuses the token (${said}): set UPSTASH_REDIS_REST_TOKEN to the database's REST token.`);
  }
  if (/NOPERM|read.?only|no permissions/i.test(said)) {
    return new Error(
      `the token may not write (${said}): set UPSTASH_REDIS_REST_TOKEN to the standard token, not the read-only one.`,
    );
  }
  return new Error(said, { cause: error instanceof Error ? error.name : undefined });
}

/** Why a connection failed, where the runtime tells (ECONNREFUSED, ENOTFOUND). */
function codeOf(error: unknown): string {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  return typeof cause === "object" && cause !== null && "code" in cause ? ` (${String(cause.code)})` : "";
}
