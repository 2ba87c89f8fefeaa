import { deno } from "sluice/deno";
import config from "./sluice.config.ts";

export default deno(config);
