import { cloudflare, SluiceLedger } from "../../../adapters/cloudflare/index.ts";
import config from "./gateway-config.ts";

/** The gateway as a user deploys it: the ledger is a Durable Object. */
export { SluiceLedger };
export default cloudflare(config);
