import { expect, onTestFinished, test } from "vitest";
import { serveOnBun } from "../fixtures/bun-serve.ts";
import { startRedis } from "../fixtures/redis-server.ts";
import { startPool } from "../fixtures/sandbox-pool.ts";

test("two gateways on one Redis share the keys, and one that ends leaves them to the other", async () => {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  // The part of a second that it does not count covers what a busy machine adds to the jitter.
  const pool = await startPool(6, { counting: "sliding", windowMs: 800, latency: () => 20 });
  onTestFinished(() => pool.close());
  const env = { ...pool.env, REDIS_URL: server.url };
  const gateways = [await serveOnBun(env), await serveOnBun(env)] as const;
  onTestFinished(async () => void (await Promise.all(gateways.map((gateway) => gateway.kill()))));

  const ask = async (i: number, url: string): Promise<number> => {
    const address = `0x${i.toString(16).padStart(40, "0")}`;
    const path = `/etherscan/v2/api?chainid=1&module=account&action=balance&address=${address}`;
    return (await fetch(url + path)).status;
  };
  const both = await Promise.all(Array.from({ length: 40 }, (_, i) => ask(i, gateways[i % 2 === 0 ? 0 : 1].url)));
  expect(both).toEqual(both.map(() => 200));
  expect(await gateways[0].stop()).toEqual({ code: 0, signal: null });
  const rest = await Promise.all(Array.from({ length: 18 }, (_, i) => ask(100 + i, gateways[1].url)));
  expect(rest).toEqual(rest.map(() => 200));

  const { total, accounts } = pool.sandbox.counts();
  expect([total.ok, total.refused]).toEqual([58, 0]);
  for (const { maxSliding } of Object.values(accounts)) expect(maxSliding).toBeLessThanOrEqual(3);
  expect(gateways[1].output).not.toMatch(/warn|cannot be reached|ledger_/);
});
