export { CRON_PATH } from "./cron.ts";
export { vercel } from "./vercel.ts";
export type { VercelFunction, VercelOptions } from "./vercel.ts";
