export { cloudflare } from "./cloudflare.ts";
export type { CloudflareOptions, CloudflareWorker } from "./cloudflare.ts";
export { durableLedger } from "./durable-ledger.ts";
export type { LedgerNamespace, LedgerStub } from "./durable-ledger.ts";
export { SluiceLedger } from "./sluice-ledger.ts";
