export { sqliteLedger } from "./ledger.ts";
export type { SqliteLedgerOptions } from "./ledger.ts";
