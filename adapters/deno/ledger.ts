import {
  exchange,
  type ExchangeReply,
  type ExchangeRequest,
  isUnused,
  type Ledger,
  type PoolHead,
} from "../../src/index.ts";
import { FleetClock } from "./fleet-clock.ts";
import { isLocked } from "./is-locked.ts";
import type { DenoKv } from "./kv-types.ts";
import { type ChangedRows, PoolLog } from "./pool-log.ts";

/** After a try that met another's commit comes a pause of up to as long as that try took, then twice as long, at most … */
const PAUSE_TRIES_MAX = 4;
/** … times that, and at most this long: who keeps losing must not wait the longest. */
const PAUSE_MAX_MS = 50;

export interface DenoKvLedgerOptions {
  /** What all keys begin with (`sluice`): two deployments on one database that must not share their counts need two. */
  readonly prefix?: string;
  /**
   * By how much the clocks of machines that share the database may differ (10). It is charged, up to 50 ms, each time a
   * bucket's next slot goes to another isolate than the last. Processes of one machine have one clock: 0.
   */
  readonly skewMs?: number;
  /** An exchange that met a conflict or a locked file for so long fails (2 000). */
  readonly giveUpAfterMs?: number;
  /** This machine's clock, epoch ms. */
  readonly now?: () => number;
  /** A number in [0, 1), for pauses. */
  readonly random?: () => number;
}

/**
 * The ledger on Deno KV: each exchange is decided here, on a copy of the pool's rows, and committed only if nobody has
 * committed since; if somebody has, the copy takes in what is new and it is decided again, after a pause by chance. One
 * operation where nobody else writes, two where others do.
 *
 * Deno KV has no clock of its own: the time is that of the machine that is ahead, and whoever is behind follows it from the
 * first of its writes on. What is left of the difference is charged (`skewMs`). Only when a machine that is ahead by more
 * joins in while others are spending may one window hold too many calls. Keep clocks by a time server.
 *
 * Isolates that exchange all the time are in each other's way: a pool can have about a thousand exchanges a second on one
 * file, and on Deno Deploy, where a commit takes tens of milliseconds, some dozens.
 *
 * @example
 * ```ts
 * import { denoKvLedger } from "@sluice/sluice/deno";
 *
 * // With --unstable-kv
 * const ledger = denoKvLedger(await Deno.openKv(":memory:"));
 * const { leases } = await ledger.exchange("etherscan", {
 *   id: "isolate:1",
 *   terms: { limit: 3, windowMs: 1_000, jitterMs: 75, dailyStop: null, dailyPacing: false },
 *   want: [{ n: 1, withinMs: 1_000, cost: 1, picks: [{ bucket: "b", target: "t", penaltyMs: 0 }] }],
 *   settle: [],
 *   arrived: 1,
 *   since: 0,
 *   leadMs: 0,
 *   skewMs: 0,
 *   dice: 0.5,
 * });
 * console.assert(leases.length === 1);
 * await ledger.close?.();
 * ```
 */
export function denoKvLedger(kv: DenoKv, options: DenoKvLedgerOptions = {}): Ledger {
  const { prefix = "sluice", skewMs = 10 } = options;
  const pools = new Map<string, Pool>();
  const poolOf = (name: string): Pool => {
    let pool = pools.get(name);
    if (pool === undefined) pools.set(name, (pool = new Pool(kv, [prefix, "ledger", name], options)));
    return pool;
  };
  return {
    exchange: (pool: string, request: ExchangeRequest): Promise<ExchangeReply> =>
      poolOf(pool).commit((log, now) => {
        const result = exchange(log, { ...request, skewMs: request.skewMs + skewMs }, now);
        return {
          head: result.head,
          changed: result,
          answer: () => ({ ...result.reply, changes: log.changes(request.since), version: result.head.version }),
        };
      }),
    sweep: (pool: string): Promise<number> =>
      poolOf(pool).commit((log, now) => {
        const buckets = unused(log.rows.buckets, now);
        const targets = unused(log.rows.targets, now);
        const rows = buckets.size + targets.size;
        const { head } = log;
        return {
          head: rows === 0 ? null : { ...head, version: head.version + 1 },
          changed: { buckets, targets },
          answer: () => rows,
        };
      }),
    close: () => kv.close(),
  };
}

function unused<Row extends Parameters<typeof isUnused>[0]>(
  rows: ReadonlyMap<string, Row>,
  now: number,
): Map<string, null> {
  return new Map([...rows].filter(([, row]) => isUnused(row, now)).map(([id]) => [id, null]));
}

interface Decision<Answer> {
  /** Null where there is nothing to write. */
  readonly head: PoolHead | null;
  readonly changed: ChangedRows;
  /** Made when it is committed. */
  answer(): Answer;
}

type Decide<Answer> = (log: PoolLog, now: number) => Decision<Answer>;

/** One pool: what this object asks of it is done one after the other, or it would be in its own way. */
class Pool {
  readonly #log: PoolLog;
  readonly #clock: FleetClock;
  readonly #random: () => number;
  readonly #giveUpAfterMs: number;
  /** The last commit was ours, and the read before it brought nothing new: probably nobody else is writing. */
  #isAlone = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor(kv: DenoKv, at: readonly string[], options: DenoKvLedgerOptions) {
    const { now = Date.now, random = Math.random, giveUpAfterMs = 2_000 } = options;
    this.#log = new PoolLog(kv, at, () => random().toString(36).slice(2));
    this.#clock = new FleetClock(now);
    this.#random = random;
    this.#giveUpAfterMs = giveUpAfterMs;
  }

  commit<Answer>(decide: Decide<Answer>): Promise<Answer> {
    // From now on, not from its turn on: nobody waits longer for what is queued behind a file that is locked.
    const until = performance.now() + this.#giveUpAfterMs;
    const mine = this.#last.then(() => this.#commit(decide, until));
    this.#last = mine.catch(() => {});
    return mine;
  }

  async #commit<Answer>(decide: Decide<Answer>, until: number): Promise<Answer> {
    let cause: unknown;
    for (let tries = 1; performance.now() < until; tries++) {
      const from = performance.now();
      try {
        const done = await this.#try(decide);
        if (done !== null) return done.answer();
      } catch (error) {
        this.#isAlone = false;
        if (!isLocked(error)) throw error;
        cause = error;
      }
      const pause = (performance.now() - from) * Math.min(tries, PAUSE_TRIES_MAX);
      await sleep(this.#random() * Math.min(pause, PAUSE_MAX_MS));
    }
    const why = cause === undefined ? "other isolates wrote to the pool before us each time" : LOCKED;
    throw new Error(`Deno KV: no commit in ${this.#giveUpAfterMs} ms: ${why}`, { cause });
  }

  /** Null when somebody else was faster. */
  async #try<Answer>(decide: Decide<Answer>): Promise<Decision<Answer> | null> {
    const isAlone = this.#isAlone || !(await this.#log.refresh());
    this.#isAlone = false;
    const decision = decide(this.#log, this.#clock.read(this.#log.head));
    if (decision.head !== null && !(await this.#log.commit(decision.head, decision.changed))) return null;
    this.#isAlone = isAlone;
    return decision;
  }
}

const LOCKED = "the database is locked by another program; end the one that holds it, or name another path";

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
