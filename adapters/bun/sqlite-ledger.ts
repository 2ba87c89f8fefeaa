import type { Ledger } from "../../src/index.ts";
import type { SqliteDatabase, SqliteStatement } from "../sqlite/database.ts";
import { ledgerOn, type SqliteLedgerOptions } from "../sqlite/ledger.ts";

/** What is used of `bun:sqlite`. */
export interface BunSqlite {
  readonly Database: new (path: string, options: { create: boolean; readwrite: boolean }) => BunDatabase;
}

interface BunDatabase {
  readonly inTransaction: boolean;
  exec(sql: string): unknown;
  prepare(sql: string): BunStatement;
  close(throwOnError: boolean): void;
}

interface BunStatement extends SqliteStatement {
  finalize(): void;
}

/**
 * The ledger in one SQLite file, on Bun's own SQLite; the same file may be in use by Node at the same time. Each exchange
 * is one immediate transaction, and what it granted outlives the process. Answers at once. Throws `config_invalid` when
 * the file cannot be used.
 */
export function sqliteLedger(options: SqliteLedgerOptions): Ledger {
  return ledgerOn(open, options);
}

function open(path: string): SqliteDatabase {
  // Not imported: whoever bundles this for another runtime has no `bun:sqlite`.
  const { Database } = loadSqlite();
  const database = new Database(path, { create: true, readwrite: true });
  const statements: BunStatement[] = [];
  return {
    get isTransaction() {
      return database.inTransaction;
    },
    exec: (sql) => void database.exec(sql),
    prepare(sql) {
      const statement = database.prepare(sql);
      statements.push(statement);
      return {
        run: (...values) => statement.run(...values),
        get: (...values) => statement.get(...values) ?? undefined,
        all: (...values) => statement.all(...values),
      };
    },
    close() {
      // Bun keeps the file open as long as there is a statement.
      for (const statement of statements.splice(0)) statement.finalize();
      database.close(true);
    },
  };
}

function loadSqlite(): BunSqlite {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): unknown } };
  const found = process?.getBuiltinModule?.("bun:sqlite");
  if (found === undefined) throw new Error("bun:sqlite is not there; on Node it is sqliteLedger of sluice/sqlite");
  return found as BunSqlite;
}
