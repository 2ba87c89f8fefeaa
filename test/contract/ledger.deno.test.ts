import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DenoKv, denoKvLedger } from "../../adapters/deno/index.ts";
import { openDenoKv } from "../fixtures/deno-kv.ts";
import { NOON } from "../fixtures/pure-store.ts";
import { ledgerContract } from "./ledger.ts";

ledgerContract("Deno KV", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-deno-kv-"));
  const path = join(folder, "ledger.db");
  let now = NOON;
  let open: DenoKv[] = [];
  const closeAll = async () => {
    for (const kv of open) kv.close();
    open = [];
  };
  return {
    connect: async () => {
      const kv = await openDenoKv(path);
      open.push(kv);
      return denoKvLedger(kv, { now: () => now, skewMs: 0, giveUpAfterMs: 15_000 });
    },
    advance: async (ms) => void (now += ms),
    restart: closeAll,
    close: async () => {
      await closeAll();
      rmSync(folder, { recursive: true });
    },
  };
});
