import { expect, onTestFinished, test } from "vitest";
import { serveOnBun } from "../fixtures/bun-serve.ts";
import { startPool } from "../fixtures/sandbox-pool.ts";

test("SIGTERM in mid-load: what is in flight is answered, what waits is refused in words", async () => {
  const pool = await startPool(3, { latency: () => 300 });
  const gateway = await serveOnBun(pool.env);
  onTestFinished(async () => {
    await gateway.kill();
    await pool.close();
  });
  const answers = Promise.all(
    Array.from({ length: 20 }, async (_, place) => {
      const address = `0x${place.toString(16).padStart(40, "0")}`;
      const path = `/etherscan/v2/api?chainid=1&module=account&action=balance&address=${address}`;
      const answer = await fetch(gateway.url + path);
      return { status: answer.status, body: (await answer.json()) as { result: string } };
    }),
  );
  // Nine go out within the first second, and the others wait.
  await expect.poll(() => pool.sandbox.counts().total.received).toBeGreaterThan(0);
  const from = performance.now();
  const stopped = gateway.stop();
  const all = await answers;
  expect(await stopped).toEqual({ code: 0, signal: null });
  expect(performance.now() - from).toBeLessThan(2_500);

  const served = all.filter(({ status }) => status === 200);
  const refused = all.filter(({ status }) => status === 503);
  expect(served.length).toBeGreaterThan(0);
  expect(refused.length).toBeGreaterThan(0);
  expect(served.length + refused.length).toBe(20);
  expect(served.length).toBe(pool.sandbox.counts().total.ok);
  for (const { body } of refused) expect(body.result).toBe("The gateway is shutting down.");
});

test("SIGTERM before any request ends it at once", async () => {
  const pool = await startPool(1);
  onTestFinished(() => pool.close());
  const gateway = await serveOnBun(pool.env);
  expect(await gateway.stop()).toEqual({ code: 0, signal: null });
});

test("a client that listens to events does not hold up the end", async () => {
  const pool = await startPool(1);
  onTestFinished(() => pool.close());
  const gateway = await serveOnBun(pool.env);
  const events = await fetch(`${gateway.url}/-/events`);
  expect(events.status).toBe(200);
  const from = performance.now();
  expect(await gateway.stop()).toEqual({ code: 0, signal: null });
  expect(performance.now() - from).toBeLessThan(2_500);
  await events.body?.cancel().catch(() => {});
});
