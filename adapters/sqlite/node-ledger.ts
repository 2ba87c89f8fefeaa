import { DatabaseSync } from "node:sqlite";
import type { Ledger } from "../../src/index.ts";
import { ledgerOn, type SqliteLedgerOptions } from "./ledger.ts";

/**
 * The ledger in one SQLite file, for any number of processes on one machine: each exchange is one immediate
 * transaction, so that it sees all earlier ones, and what it granted outlives the process. Answers at once.
 * Throws `config_invalid` when the file cannot be used.
 */
export function sqliteLedger(options: SqliteLedgerOptions): Ledger {
  return ledgerOn((path) => new DatabaseSync(path, { timeout: 0 }), options);
}
