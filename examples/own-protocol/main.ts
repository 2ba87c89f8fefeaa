import { serve } from "sluice/node";
import config from "./sluice.config.ts";

const served = await serve(config, { port: Number(process.env["PORT"] ?? 8787) });
console.log(`listening on ${served.url}`);

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => void served.stop().then(() => process.exit()));
}
