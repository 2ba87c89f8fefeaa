export { upstashLedger } from "./ledger.ts";
export type { UpstashLedgerOptions } from "./ledger.ts";
