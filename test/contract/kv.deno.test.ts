import { denoKv } from "../../adapters/deno/index.ts";
import { openDenoKv } from "../fixtures/deno-kv.ts";
import { NOON } from "../fixtures/pure-store.ts";
import { kvContract } from "./kv.ts";

kvContract("Deno KV", async () => {
  const database = await openDenoKv(":memory:");
  let now = NOON;
  return {
    kv: denoKv(database, { now: () => now }),
    advance: (ms) => void (now += ms),
    close: async () => database.close(),
  };
});
