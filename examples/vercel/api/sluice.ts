import { vercel } from "sluice/vercel";
import sluiceConfig from "../sluice.config.ts";

// On the Edge runtime instead of Node: export const config = { runtime: "edge" };
export default vercel(sluiceConfig);
