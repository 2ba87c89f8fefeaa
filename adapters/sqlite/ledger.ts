import {
  type BucketState,
  type Changes,
  EMPTY_HEAD,
  exchange,
  type ExchangeReply,
  type ExchangeRequest,
  type ExchangeResult,
  type Ledger,
  isUnused,
  type PoolHead,
  type PoolRows,
  type TargetState,
} from "../../src/index.ts";
import type { OpenDatabase, SqliteDatabase } from "./database.ts";
import { errorCode } from "./error-code.ts";
import { openState, unusable } from "./open-state.ts";
import { sameFile } from "./same-file.ts";
import { whenFree } from "./when-free.ts";

export interface SqliteLedgerOptions {
  /** The database file; its folder is made when absent. `:memory:` is possible and forgets everything. */
  readonly path: string;
  /** Epoch milliseconds; the clock of the machine unless given. All processes on one file must share it. */
  readonly now?: () => number;
}

/** The ledger in one SQLite file, which each runtime opens with its own SQLite. Throws `config_invalid`. */
export function ledgerOn(open: OpenDatabase, { path, now = Date.now }: SqliteLedgerOptions): Ledger {
  const database = openState(open, path);
  const statements = prepare(database);
  const pools = new Map<string, PoolCopy>();
  const isSame = sameFile(path);
  return {
    exchange(pool: string, request: ExchangeRequest): ExchangeReply {
      let copy = pools.get(pool);
      if (copy === undefined) pools.set(pool, (copy = new PoolCopy(pool, statements)));
      if (!isSame(now())) throw unusable(path, new Error("it was removed or replaced while in use; restart"));
      try {
        whenFree(() => statements.begin.run());
        copy.refresh();
        const result = exchange(copy, request, now());
        copy.write(result);
        statements.commit.run();
        copy.take(result);
        return { ...result.reply, changes: copy.changes(request.since, result), version: result.head.version };
      } catch (error) {
        if (database.isTransaction) statements.rollback.run();
        throw isOfFile(error) ? unusable(path, error) : error;
      }
    },
    sweep(pool: string): number {
      const rows = statements.since.all(pool, 0) as Row[];
      const unused = rows.filter(({ data }) => isUnused(JSON.parse(data) as BucketState | TargetState, now()));
      for (const { kind, id } of unused) statements.remove.run(pool, kind, id);
      return unused.length;
    },
    close: () => database.close(),
  };
}

/** Of the database, or of a row that is no JSON. */
function isOfFile(error: unknown): boolean {
  return error instanceof SyntaxError || errorCode(error) !== undefined;
}

/**
 * The rows of one pool as this connection last saw them. Parsing them anew for every exchange would be most of its
 * cost; so they are kept, and only what others have committed since is read (a row's version tells).
 */
class PoolCopy implements PoolRows {
  head: PoolHead = EMPTY_HEAD;
  readonly #pool: string;
  readonly #statements: Statements;
  readonly #buckets = new Map<string, BucketState>();
  readonly #targets = new Map<string, TargetState>();
  #commits: unknown;

  constructor(pool: string, statements: Statements) {
    this.#pool = pool;
    this.#statements = statements;
  }

  bucket(id: string): BucketState | undefined {
    return this.#buckets.get(id);
  }

  target(id: string): TargetState | undefined {
    return this.#targets.get(id);
  }

  /** Within the transaction: reads what other connections have written since. */
  refresh(): void {
    const { data_version: commits } = this.#statements.commits.get() as { data_version: number };
    if (commits === this.#commits) return;
    const stored = this.#statements.head.get(this.#pool) as { data: string } | undefined;
    const head: PoolHead = { ...EMPTY_HEAD, ...(stored === undefined ? {} : (JSON.parse(stored.data) as PoolHead)) };
    if (head.version < this.head.version) this.#forget();
    for (const row of this.#statements.since.all(this.#pool, this.head.version) as Row[]) {
      if (row.kind === "bucket") this.#buckets.set(row.id, JSON.parse(row.data) as BucketState);
      else this.#targets.set(row.id, JSON.parse(row.data) as TargetState);
    }
    this.head = head;
    this.#commits = commits;
  }

  write({ head, buckets, targets }: ExchangeResult): void {
    const { writeHead, writeRow } = this.#statements;
    for (const [id, row] of buckets) writeRow.run(this.#pool, "bucket", id, row.version, JSON.stringify(row));
    for (const [id, row] of targets) writeRow.run(this.#pool, "target", id, row.version, JSON.stringify(row));
    writeHead.run(this.#pool, JSON.stringify(head));
  }

  /** After the commit: what was written is what is known. */
  take({ head, buckets, targets }: ExchangeResult): void {
    for (const [id, row] of buckets) this.#buckets.set(id, row);
    for (const [id, row] of targets) this.#targets.set(id, row);
    this.head = head;
  }

  /** What a client that knows the state up to `since` does not know, `latest` being the newest change. */
  changes(since: number, latest: ExchangeResult): Changes {
    const { version } = latest.head;
    if (since === version - 1) {
      return { buckets: Object.fromEntries(latest.buckets), targets: Object.fromEntries(latest.targets) };
    }
    // A client that knows more than there is comes from another file: it knows nothing of this one.
    const from = since < version ? since : 0;
    return { buckets: newer(this.#buckets, from), targets: newer(this.#targets, from) };
  }

  /** Somebody emptied the tables. */
  #forget(): void {
    this.head = EMPTY_HEAD;
    this.#buckets.clear();
    this.#targets.clear();
  }
}

function newer<State extends { readonly version: number }>(
  rows: ReadonlyMap<string, State>,
  since: number,
): Record<string, State> {
  const found: Record<string, State> = {};
  for (const [id, row] of rows) if (row.version > since) found[id] = row;
  return found;
}

interface Row {
  readonly id: string;
  readonly kind: "bucket" | "target";
  readonly data: string;
}

type Statements = ReturnType<typeof prepare>;

function prepare(database: SqliteDatabase) {
  const statement = (sql: string) => database.prepare(sql);
  return {
    begin: statement("BEGIN IMMEDIATE"),
    commit: statement("COMMIT"),
    rollback: statement("ROLLBACK"),
    /** Changes whenever another connection has committed. */
    commits: statement("PRAGMA data_version"),
    head: statement("SELECT data FROM heads WHERE pool = ?"),
    writeHead: statement("INSERT INTO heads VALUES (?, ?) ON CONFLICT DO UPDATE SET data = excluded.data"),
    writeRow: statement(
      "INSERT INTO rows VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version, data = excluded.data",
    ),
    remove: statement("DELETE FROM rows WHERE pool = ? AND kind = ? AND id = ?"),
    since: statement("SELECT kind, id, data FROM rows WHERE pool = ? AND version > ?"),
  };
}
