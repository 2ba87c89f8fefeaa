export { redisLedger } from "./ledger.ts";
export type { RedisConnection, RedisLedgerOptions } from "./ledger.ts";
