import { fileURLToPath } from "node:url";
import { bundleWorker, startWorkerd } from "../../fixtures/workerd.ts";
import { gatewayEnv } from "./gateway-runtimes.ts";

/** One Worker in workerd: `gateway` or `bare`, and the upstream's address. Ends with its process. */
const [which = "", upstream = ""] = process.argv.slice(2);
const isGateway = which === "gateway";
const entry = isGateway
  ? new URL("./gateway-worker.ts", import.meta.url)
  : new URL("./gateway-bare-worker.ts", import.meta.url);

const workerd = await startWorkerd({
  script: await bundleWorker(fileURLToPath(entry)),
  ...(isGateway ? { ledger: "SluiceLedger" } : {}),
  env: isGateway ? gatewayEnv(upstream) : { UPSTREAM: upstream },
  log: (line) => void process.stderr.write(line),
});
process.once("SIGTERM", () => void workerd.stop().then(() => process.exit(0)));
process.stdout.write(`listening on ${(workerd.urls[0] ?? "").replace(/\/$/, "")}\n`);
