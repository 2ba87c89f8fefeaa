import { bun } from "sluice/bun";
import config from "./sluice.config.ts";

export default bun(config);
