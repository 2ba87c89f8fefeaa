import type { ExchangeReply, ExchangeRequest, Ledger } from "../../src/index.ts";
import { SCRIPT, SCRIPT_SHA } from "./script.ts";

/**
 * A connection to Redis 5 or newer (or what speaks its language): sends one command, resolves to its answer and rejects
 * with the server's error text in `message`. Bun's `RedisClient` is one as it is; of ioredis it is
 * `{ send: (command, args) => redis.call(command, ...args) }`, of node-redis
 * `{ send: (command, args) => redis.sendCommand([command, ...args]) }`.
 */
export interface RedisConnection {
  send(command: string, args: string[]): Promise<unknown>;
}

export interface RedisLedgerOptions {
  readonly connection: RedisConnection;
  /** What all keys begin with (`sluice`): two deployments on one server that must not share their counts need two. */
  readonly prefix?: string;
  /** Epoch milliseconds; the server's own clock unless given. For tests. */
  readonly now?: () => number;
  /** Runs when the ledger is closed. */
  readonly close?: () => void | Promise<void>;
}

/**
 * The ledger on Redis: each exchange is one script, so atomic, on the server's own clock, and one round trip, under
 * contention too. Two keys a pool, in one slot of a cluster. What it granted is as durable as the server is; after a
 * restart or a failover it grants nothing for as long as lost grants may still be under way.
 */
export function redisLedger({ connection, prefix = "sluice", now, close }: RedisLedgerOptions): Ledger {
  return {
    async exchange(pool: string, request: ExchangeRequest): Promise<ExchangeReply> {
      const keys = [`${prefix}:${SHAPE}:{${pool}}:rows`, `${prefix}:${SHAPE}:{${pool}}:versions`];
      const args = ["2", ...keys, JSON.stringify(request), ...(now === undefined ? [] : [String(now())])];
      const answer = await evaluate(connection, args);
      return parseAnswer(answer);
    },
    ...(close === undefined ? {} : { close }),
  };
}

/** Of the rows; another one's keys are let be, and go by themselves. Raise it with every change of the rows' shape. */
const SHAPE = "v1";

async function evaluate(connection: RedisConnection, args: string[]): Promise<unknown> {
  try {
    return await connection.send("EVALSHA", [SCRIPT_SHA, ...args]);
  } catch (error) {
    // The server has not seen the script yet, or has forgotten it with its memory.
    if (!(error instanceof Error && error.message.includes("NOSCRIPT"))) throw error;
    return connection.send("EVAL", [SCRIPT, ...args]);
  }
}

/** Some clients parse what looks like JSON themselves. */
function parseAnswer(answer: unknown): ExchangeReply {
  const reply: unknown = typeof answer === "string" ? JSON.parse(answer) : answer;
  if (typeof reply !== "object" || reply === null || !("leases" in reply)) {
    throw new Error("the answer to the ledger's script is none of its own");
  }
  return reply as ExchangeReply;
}
