import { join } from "node:path";
import { gatewayContract } from "../contract/gateway.ts";
import { collect } from "../fixtures/secret-sink.ts";
import { bundleWorker, startWorkerd } from "../fixtures/workerd.ts";

const bundled = bundleWorker(join(import.meta.dirname, "../fixtures/workers/gateway-worker.ts"));

gatewayContract(
  "workerd",
  async (env) => {
    const workerd = await startWorkerd({
      script: await bundled,
      ledger: "SluiceLedger",
      kv: true,
      env,
      log: (line) => collect("workerd's output", line),
    });
    return { url: (workerd.urls[0] ?? "").replace(/\/$/, ""), stop: () => workerd.stop() };
  },
  { seesPeers: false, front: "platform" },
);
