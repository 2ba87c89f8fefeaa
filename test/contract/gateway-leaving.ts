import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { openRaw, rawRequest } from "../fixtures/raw-http.ts";
import { startPool } from "../fixtures/sandbox-pool.ts";
import { registerSecrets } from "../fixtures/secret-sink.ts";
import { startStub } from "../fixtures/stub-upstream.ts";
import { balancePath, type GatewayClient, type OpenGateway } from "./gateway-client.ts";

const KEY = "LEAVINGKEY0123456789ABCDEFGHIJKLMN";
registerSecrets(KEY);

async function expectIdle(gateway: GatewayClient): Promise<void> {
  await expect
    .poll(
      async () => {
        const { queued, inFlight, slots } = await gateway.stats();
        return { queued, inFlight, slots };
      },
      { timeout: 5_000 },
    )
    .toEqual({ queued: 0, inFlight: 0, slots: 0 });
}

interface LeavingClient {
  leave(): void;
  /** Whether it had an answer before it left. */
  readonly answered: Promise<boolean>;
}

/** A client that hangs up costs nothing from then on. */
export function describeLeaving(open: OpenGateway, front: "ours" | "platform"): void {
  const call = (gateway: GatewayClient, path: string): LeavingClient => {
    if (front === "platform") return openRaw(gateway.url, rawRequest(path, gateway.pass));
    const leaving = new AbortController();
    const answer = gateway.ask(path, { signal: leaving.signal });
    return {
      leave: () => leaving.abort(),
      answered: answer.then(
        () => true,
        () => false,
      ),
    };
  };

  describe("clients that leave", () => {
    test("a call that still waits is never sent, and holds up nobody", async () => {
      const pool = await startPool(1);
      onTestFinished(() => pool.close());
      const gateway = await open(pool.env);
      const gone = Array.from({ length: 12 }, () => call(gateway, balancePath("&left=1")));
      await expect.poll(async () => (await gateway.stats()).queued).toBeGreaterThan(9);
      const received = pool.sandbox.counts().total.received;
      for (const client of gone) client.leave();
      const from = performance.now();
      expect((await gateway.ask(balancePath())).status).toBe(200);
      // Behind twelve others at three a second it would have waited for three seconds.
      expect(performance.now() - from).toBeLessThan(1_000);
      await Promise.all(gone.map((client) => client.answered));
      await expectIdle(gateway);
      await sleep(800);
      const left = pool.sandbox.requests.filter(({ params }) => params["left"] === "1").length;
      // One may have been on its way when its client left.
      expect(left - received).toBeLessThanOrEqual(1);
      expect((await gateway.stats()).targets[0]).toMatchObject({ state: "ready" });
    });

    test("the upstream sees that a call in flight is abandoned", async () => {
      const stub = await startStub(() => undefined);
      onTestFinished(() => stub.close());
      const gateway = await open({ ETHERSCAN_KEYS: KEY, ETHERSCAN_BASE_URLS: `${stub.url}/v2/api` });
      const client = call(gateway, balancePath());
      await expect.poll(() => stub.requests.length).toBe(1);
      expect((await gateway.stats()).inFlight).toBe(1);
      expect(stub.abandoned).toBe(0);
      client.leave();
      expect(await client.answered).toBe(false);
      await expect.poll(() => stub.abandoned).toBe(1);
      await expectIdle(gateway);
      const { calls, targets } = await gateway.stats();
      expect(calls.failed).toBe(0);
      expect(targets[0]).toMatchObject({ state: "ready", failed: 0 });
    });
  });
}
