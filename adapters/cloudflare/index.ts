export { workerBackground } from "./background.ts";
export { workerClock } from "./clock.ts";
export type { WorkerClock } from "./clock.ts";
export { cloudflare } from "./cloudflare.ts";
export type { CloudflareOptions, CloudflareWorker } from "./cloudflare.ts";
export { durableLedger } from "./durable-ledger.ts";
export type { LedgerNamespace, LedgerStub } from "./durable-ledger.ts";
export { SluiceLedger } from "./sluice-ledger.ts";
