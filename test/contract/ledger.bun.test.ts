import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { sqliteLedger } from "../../adapters/bun/index.ts";
import { redisLedger } from "../../adapters/redis/index.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { openBunRedis } from "../fixtures/bun-redis.ts";
import { NOON } from "../fixtures/pure-store.ts";
import { type RedisServer, startRedis } from "../fixtures/redis-server.ts";
import { ledgerContract } from "./ledger.ts";

ledgerContract("bun:sqlite", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-bun-ledger-"));
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

let server: RedisServer;
let stores = 0;

beforeAll(async () => {
  server = await startRedis({ persist: true });
});
afterAll(() => server.stop());

ledgerContract("Bun.redis", async () => {
  const prefix = `store-${++stores}`;
  let now = NOON;
  let open: Ledger[] = [];
  const closeAll = async () => {
    for (const ledger of open) await ledger.close?.();
    open = [];
  };
  return {
    connect: async () => {
      const connection = openBunRedis(server.url);
      const ledger = redisLedger({ connection, prefix, now: () => now, close: () => connection.close() });
      open.push(ledger);
      return ledger;
    },
    advance: async (ms) => void (now += ms),
    restart: async () => {
      await closeAll();
      await server.kill();
      await server.restart();
    },
    close: closeAll,
  };
});
