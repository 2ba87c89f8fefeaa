export { bun } from "./bun.ts";
export type { BunOptions, BunServe, BunServer } from "./bun.ts";
export { bunClock } from "./clock.ts";
export { sqliteLedger } from "./sqlite-ledger.ts";
export type { SqliteLedgerOptions } from "../sqlite/ledger.ts";
