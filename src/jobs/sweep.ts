import type { Ledger } from "../ports/ledger.ts";
import type { Job } from "./job.ts";

/** Forgets what the ledger keeps of keys that left the configuration long ago. */
export function sweepJob(ledger: Ledger, pools: readonly string[]): Job {
  return {
    name: "sweep",
    async run() {
      if (ledger.sweep === undefined) return "left to the store";
      let rows = 0;
      for (const pool of pools) rows += await ledger.sweep(pool);
      return `${rows} rows forgotten`;
    },
  };
}
