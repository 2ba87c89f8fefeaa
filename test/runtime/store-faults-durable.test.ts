import { join } from "node:path";
import type { SluiceEvent } from "../../src/ports/events.ts";
import { storeFaults } from "../contract/store-faults.ts";
import { collect } from "../fixtures/secret-sink.ts";
import { bundleWorker, startWorkerd } from "../fixtures/workerd.ts";

const bundled = bundleWorker(join(import.meta.dirname, "../fixtures/workers/faulty-worker.ts"));

storeFaults(
  "a Durable Object",
  async (env) => {
    let printed = "";
    const log = (text: string): void => {
      collect("workerd's output", text);
      printed += text;
    };
    const workerd = await startWorkerd({ script: await bundled, ledger: "FaultyLedger", isolates: 3, env, log });
    return {
      isolates: workerd.urls.map((url) => (path: string) => fetch(url.replace(/\/$/, "") + path)),
      events: () =>
        printed
          .split("\n")
          .filter((line) => line.startsWith('{"type":"'))
          .map((line) => JSON.parse(line) as SluiceEvent),
      fault: async (fault) => void (await fetch(`${workerd.urls[0]}fault/${fault ?? "none"}`)),
      close: () => workerd.stop(),
    };
  },
  ["down", "slow", "garbage"],
);
