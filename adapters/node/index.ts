export { nodeClock } from "./clock.ts";
export { nodePlatform } from "./platform.ts";
export type { NodePlatformOptions } from "./platform.ts";
export { serve } from "./serve.ts";
export type { Served, ServeOptions } from "./serve.ts";
export { sqliteLedger } from "../sqlite/index.ts";
