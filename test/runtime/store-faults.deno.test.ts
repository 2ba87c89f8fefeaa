import { mkdtempSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DenoKv, denoKvLedger } from "../../adapters/deno/index.ts";
import { storeFaults } from "../contract/store-faults.ts";
import { openDenoKv } from "../fixtures/deno-kv.ts";
import { skewedIsolate } from "../fixtures/skewed-isolate.ts";

/** A connection that can be lost and found again: `down`. A file that another program keeps for itself: `slow`. */
storeFaults(
  "Deno KV",
  async (env) => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-deno-faults-"));
    const path = join(folder, "kv.db");
    const connections = await Promise.all([0, 1, 2].map(() => openDenoKv(path)));
    let holder: DatabaseSync | null = null;
    let isClosed = false;
    const connection = (i: number): DenoKv => {
      const current = (): DenoKv => connections[i] as DenoKv;
      return {
        list: (selector, options) => current().list(selector, options),
        atomic: () => current().atomic(),
        close: () => current().close(),
      };
    };
    const closeAll = (): void => {
      for (const kv of connections) kv.close();
      isClosed = true;
    };
    const isolates = [0, 5_000, -5_000].map((skewMs, i) =>
      skewedIsolate({ env, skewMs, ledger: denoKvLedger(connection(i), { skewMs: 0 }) }),
    );
    return {
      isolates: isolates.map((isolate) => isolate.ask),
      events: () => isolates.flatMap((isolate) => isolate.events),
      async fault(fault) {
        if (fault === "down") closeAll();
        else if (fault === "slow") {
          holder = new DatabaseSync(path, { timeout: 5_000 });
          holder.exec("BEGIN EXCLUSIVE");
        } else if (isClosed) {
          for (const i of connections.keys()) connections[i] = await openDenoKv(path);
          isClosed = false;
        } else {
          holder?.exec("ROLLBACK");
          holder?.close();
        }
      },
      async close() {
        for (const isolate of isolates) await isolate.close();
        if (!isClosed) closeAll();
        rmSync(folder, { recursive: true });
      },
    };
  },
  ["down", "slow"],
);
