export { memoryKv } from "./kv.ts";
export { memoryPlatform } from "./platform.ts";
export type { MemoryPlatformOptions } from "./platform.ts";
