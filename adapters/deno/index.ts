export { denoClock } from "./clock.ts";
export { deno } from "./deno.ts";
export type { DenoOptions, DenoServeInfo, DenoServer } from "./deno.ts";
export { denoKv } from "./kv.ts";
export type { DenoKvOptions } from "./kv.ts";
export type { DenoKv, DenoKvAtomic, DenoKvEntry, DenoKvKey, DenoKvSelector } from "./kv-types.ts";
export { denoKvLedger } from "./ledger.ts";
export type { DenoKvLedgerOptions } from "./ledger.ts";
