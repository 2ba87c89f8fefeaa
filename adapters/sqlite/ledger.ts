import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import {
  type BucketState,
  EMPTY_HEAD,
  exchange,
  type ExchangeReply,
  type ExchangeRequest,
  type Ledger,
  type PoolHead,
  SluiceError,
  type TargetState,
  touched,
} from "../../src/index.ts";

/** How long a process waits for another one's exchange (each takes well under a millisecond). */
const BUSY_MS = 500;
/** The layout of the file; a file of another layout is refused, never rewritten. */
const SCHEMA = 1;

export interface SqliteLedgerOptions {
  /** The database file; its folder is made when absent. `:memory:` is possible and forgets everything. */
  readonly path: string;
  /** Epoch milliseconds; the clock of the machine unless given. All processes on one file must share it. */
  readonly now?: () => number;
}

interface Row {
  readonly id: string;
  readonly kind: "bucket" | "target";
  readonly data: string;
}

/**
 * The ledger in one SQLite file, for any number of processes on one machine: each exchange is one immediate
 * transaction, so that it sees all earlier ones, and what it granted outlives the process. Answers at once.
 */
export function sqliteLedger({ path, now = Date.now }: SqliteLedgerOptions): Ledger {
  const database = open(path);
  const statements = prepare(database);
  return {
    exchange(pool: string, request: ExchangeRequest): ExchangeReply {
      database.exec("BEGIN IMMEDIATE");
      try {
        const reply = exchangeIn(statements, pool, request, now());
        database.exec("COMMIT");
        return reply;
      } catch (error) {
        database.exec("ROLLBACK");
        throw error;
      }
    },
    close: () => database.close(),
  };
}

type Statements = Record<"head" | "writeHead" | "row" | "writeRow" | "since", StatementSync>;

function exchangeIn(statements: Statements, pool: string, request: ExchangeRequest, now: number): ExchangeReply {
  const stored = statements.head.get(pool) as { data: string } | undefined;
  const head: PoolHead = stored === undefined ? EMPTY_HEAD : (JSON.parse(stored.data) as PoolHead);
  const ids = touched(request);
  const read = (kind: Row["kind"], id: string): unknown => {
    const row = statements.row.get(pool, kind, id) as { data: string } | undefined;
    return row === undefined ? undefined : JSON.parse(row.data);
  };
  const buckets = new Map([...ids.buckets].map((id) => [id, read("bucket", id) as BucketState | undefined]));
  const targets = new Map([...ids.targets].map((id) => [id, read("target", id) as TargetState | undefined]));
  const rows = { head, bucket: (id: string) => buckets.get(id), target: (id: string) => targets.get(id) };
  const result = exchange(rows, request, now);
  const { version } = result.head;
  for (const [id, row] of result.buckets) statements.writeRow.run(pool, "bucket", id, version, JSON.stringify(row));
  for (const [id, row] of result.targets) statements.writeRow.run(pool, "target", id, version, JSON.stringify(row));
  statements.writeHead.run(pool, JSON.stringify(result.head));
  const changed = statements.since.all(pool, request.since) as unknown as Row[];
  const of = (kind: Row["kind"]) =>
    Object.fromEntries(changed.filter((row) => row.kind === kind).map((row) => [row.id, JSON.parse(row.data)]));
  return { ...result.reply, changes: { buckets: of("bucket"), targets: of("target") }, version };
}

function prepare(database: DatabaseSync): Statements {
  return {
    head: database.prepare("SELECT data FROM heads WHERE pool = ?"),
    writeHead: database.prepare("INSERT INTO heads VALUES (?, ?) ON CONFLICT DO UPDATE SET data = excluded.data"),
    row: database.prepare("SELECT data FROM rows WHERE pool = ? AND kind = ? AND id = ?"),
    writeRow: database.prepare(
      "INSERT INTO rows VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version, data = excluded.data",
    ),
    since: database.prepare("SELECT kind, id, data FROM rows WHERE pool = ? AND version > ?"),
  };
}

function open(path: string): DatabaseSync {
  try {
    if (path !== ":memory:") mkdirSync(dirname(path), { recursive: true });
    const database = new DatabaseSync(path, { timeout: BUSY_MS });
    // NORMAL in WAL survives the death of the process at any point; only a power cut can cost the last exchanges.
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
    migrate(database, path);
    return database;
  } catch (cause) {
    if (cause instanceof SluiceError) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new SluiceError(
      "config_invalid",
      `SLUICE_STATE: the state file ${path} cannot be used (${why}); name a writable path, or move the file away to start anew.`,
      { cause },
    );
  }
}

function migrate(database: DatabaseSync, path: string): void {
  const { user_version: found } = database.prepare("PRAGMA user_version").get() as { user_version: number };
  if (found > SCHEMA) {
    throw new SluiceError(
      "config_invalid",
      `SLUICE_STATE: ${path} was written by a newer Sluice (layout ${found}, this one knows ${SCHEMA}); use that version or another path.`,
    );
  }
  database.exec(`
    BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS heads (pool TEXT PRIMARY KEY, data TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS rows (
      pool TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, data TEXT NOT NULL,
      PRIMARY KEY (pool, kind, id)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS rows_by_version ON rows (pool, version);
    PRAGMA user_version = ${SCHEMA};
    COMMIT;
  `);
}
