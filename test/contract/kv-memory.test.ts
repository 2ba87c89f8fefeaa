import { expect, it } from "vitest";
import { memoryKv } from "../../adapters/memory/index.ts";
import { NOON } from "../fixtures/pure-store.ts";
import { kvContract } from "./kv.ts";

kvContract("memory", async () => {
  let now = NOON;
  return { kv: memoryKv(() => now), advance: (ms) => void (now += ms), close: async () => undefined };
});

it("lets go of what has expired, however many have been set", async () => {
  let now = NOON;
  const kv = memoryKv(() => now);
  for (let i = 0; i < 100_000; i++) {
    await kv.setItem(`once:${i}`, "x".repeat(100), { ttl: 1 });
    now += 10;
  }
  // Back in time everything that is still kept counts again.
  now = NOON;
  expect((await kv.getKeys()).length).toBeLessThan(1_000);
});
