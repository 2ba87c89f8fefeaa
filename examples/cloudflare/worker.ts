import { cloudflare } from "sluice/cloudflare";
import config from "./sluice.config.ts";

export { SluiceLedger } from "sluice/cloudflare";
export default cloudflare(config);
