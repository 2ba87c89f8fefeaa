export { unstorageKv } from "./kv.ts";
export type { StorageLike, StoredItem, UnstorageKvOptions } from "./kv.ts";
