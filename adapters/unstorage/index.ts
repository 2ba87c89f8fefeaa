export { unstorageKv } from "./kv.ts";
export type { StorageLike, StoredItem, UnstorageKvOptions } from "./kv.ts";
export { workersKv } from "./workers-kv.ts";
export type { KvBinding } from "./workers-kv.ts";
