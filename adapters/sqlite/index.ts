export { sqliteLedger } from "./node-ledger.ts";
export type { SqliteLedgerOptions } from "./ledger.ts";
