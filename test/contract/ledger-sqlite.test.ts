import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteLedger } from "../../adapters/sqlite/index.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { NOON } from "../fixtures/pure-store.ts";
import { ledgerContract } from "./ledger.ts";

ledgerContract("SQLite", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-ledger-"));
  const path = join(folder, "state", "ledger.db");
  let now = NOON;
  let open: Ledger[] = [];
  const closeAll = async () => {
    for (const ledger of open) await ledger.close?.();
    open = [];
  };
  return {
    connect: async () => {
      const ledger = sqliteLedger({ path, now: () => now });
      open.push(ledger);
      return ledger;
    },
    advance: async (ms) => void (now += ms),
    restart: closeAll,
    close: async () => {
      await closeAll();
      rmSync(folder, { recursive: true });
    },
  };
});
