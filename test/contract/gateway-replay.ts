import { describe, expect, onTestFinished, test } from "vitest";
import { type Fault, FAULTS } from "../fixtures/sandbox-etherscan.ts";
import { type SandboxPool, startPool } from "../fixtures/sandbox-pool.ts";
import { balancePath, type GatewayClient, type OpenGateway, problemOf, refusalOf } from "./gateway-client.ts";

/** A healthy sandbox answers within a few milliseconds; its slow answers take longer than this. */
const TIMEOUT_MS = 300;
const SLOW_MS = 5_000;

/** `count` keys behind one sandbox, and one more behind another address. */
async function openPair(
  open: OpenGateway,
  count: number,
): Promise<{ gateway: GatewayClient; ill: SandboxPool; well: SandboxPool }> {
  const ill = await startPool(count, { slowMs: SLOW_MS });
  const well = await startPool(1);
  onTestFinished(() => Promise.all([ill.close(), well.close()]).then(() => undefined));
  const urls = [...ill.secrets.map(() => ill.env.ETHERSCAN_BASE_URLS), well.env.ETHERSCAN_BASE_URLS];
  const gateway = await open({
    ETHERSCAN_KEYS: [...ill.secrets, ...well.secrets].join(","),
    ETHERSCAN_BASE_URLS: urls.join(","),
    UPSTREAM_TIMEOUT: String(TIMEOUT_MS),
  });
  return { gateway, ill, well };
}

async function statusesOf(gateway: GatewayClient, calls: number): Promise<number[]> {
  const answers = Array.from({ length: calls }, () => gateway.ask(balancePath()));
  return Promise.all(answers.map(async (answer) => (await answer).status));
}

const times = (count: number, status: number): number[] => Array.from({ length: count }, () => status);

/** What goes wrong upstream stays upstream as long as one key can serve. */
export function describeReplay(open: OpenGateway): void {
  describe("replay", () => {
    test.each(FAULTS.map((fault) => [fault]))("the client never sees a fault: %s", async (fault: Fault) => {
      const { gateway, ill, well } = await openPair(open, 2);
      for (const position of [1, 2]) ill.change(position, { fault: () => fault });
      expect(await statusesOf(gateway, 2)).toEqual(times(2, 200));
      expect(ill.sandbox.counts().total.received).toBeGreaterThan(0);
      expect(well.sandbox.counts().total.ok).toBe(2);
      const { targets, calls } = await gateway.stats();
      expect(calls).toMatchObject({ ok: 2, failed: 0 });
      expect(targets.filter(({ failed }) => failed > 0).map(({ position }) => position)).not.toContain(3);
      expect(targets.find(({ failed }) => failed > 0)?.lastError).toBe("network");
    });

    test("a key that refuses what it could take is replayed on others", async () => {
      const { gateway, ill, well } = await openPair(open, 3);
      for (const position of [1, 2, 3]) ill.change(position, { sickness: () => 1 });
      expect(await statusesOf(gateway, 4)).toEqual(times(4, 200));
      expect(well.sandbox.counts().total.ok).toBe(4);
      expect(ill.sandbox.counts().total.refused).toBeGreaterThan(0);
    });

    test("an invalid key is disabled and never asked again", async () => {
      const { gateway, ill } = await openPair(open, 2);
      ill.change(2, { invalid: true });
      expect(await statusesOf(gateway, 9)).toEqual(times(9, 200));
      expect(ill.sandbox.counts().keys[1]).toMatchObject({ received: 1, invalid: 1 });
      const { targets, capacity } = await gateway.stats();
      expect(targets.map(({ state, why }) => [state, why])).toEqual([
        ["ready", null],
        ["disabled", "key_invalid"],
        ["ready", null],
      ]);
      expect(capacity).toBe(6);
    });

    test("a key whose day is spent is parked until midnight UTC", async () => {
      const { gateway, ill } = await openPair(open, 2);
      ill.change(1, { perDay: 1 });
      expect(await statusesOf(gateway, 12)).toEqual(times(12, 200));
      expect(ill.sandbox.counts().keys[0]).toMatchObject({ received: 2, ok: 1, refused: 1 });
      const [parked] = (await gateway.stats()).targets;
      expect(parked).toMatchObject({ state: "parked", why: "rate_limited_daily", lastError: "rate_limited_daily" });
      const midnight = (Math.floor(Date.now() / 86_400_000) + 1) * 86_400_000;
      const until = Date.now() + (parked?.cooldownMs ?? 0);
      expect(until).toBeGreaterThan(midnight);
      expect(until).toBeLessThan(midnight + 65_000);
    });

    test("a stated ceiling is learnt", async () => {
      const { gateway, ill, well } = await openPair(open, 1);
      ill.change(1, { perSecond: 1 });
      expect(await statusesOf(gateway, 8)).toEqual(times(8, 200));
      expect((await gateway.stats()).targets[0]).toMatchObject({ limit: 1, limitSource: "observed" });
      expect(well.sandbox.counts().total.refused).toBe(0);
    });

    test("the whole pool out is one error that says for how long", async () => {
      const { gateway, ill, well } = await openPair(open, 2);
      for (const position of [1, 2]) ill.change(position, { perDay: 0 });
      well.change(1, { perDay: 0 });
      const first = await gateway.ask(balancePath());
      expect(first.status).toBe(503);
      expect(await refusalOf(first)).toMatch(/^No target took the call in 3 tries \(rate_limited_daily\)/);

      const next = await gateway.ask(balancePath());
      expect(next.status).toBe(503);
      expect(await refusalOf(next)).toMatch(/^Every target is out of service; the first is back in /);
      const toMidnight = 86_400 - ((Date.now() / 1000) % 86_400);
      const retryAfter = Number(next.headers.get("retry-after"));
      expect(retryAfter).toBeGreaterThan(toMidnight);
      expect(retryAfter).toBeLessThan(toMidnight + 65);
      expect(ill.sandbox.counts().total.received + well.sandbox.counts().total.received).toBe(3);

      const ready = await gateway.ask("/-/ready");
      expect(ready.status).toBe(503);
      expect(await problemOf(ready)).toMatchObject({
        code: "pool_exhausted",
        upstreams: [{ ready: false, why: "every target is disabled, parked or cooling" }],
      });
    });

    test("an upstream that fails on every key is a 502, or a 504 when it does not answer", async () => {
      const { gateway, ill, well } = await openPair(open, 2);
      for (const position of [1, 2]) ill.change(position, { fault: () => "5xx" });
      well.change(1, { fault: () => "5xx" });
      const failed = await gateway.ask(balancePath());
      expect(failed.status).toBe(502);
      expect(Number(failed.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(await refusalOf(failed)).toBe("The upstream failed in 3 tries (http_5xx).");

      const silent = await openPair(open, 2);
      for (const position of [1, 2]) silent.ill.change(position, { fault: () => "slow" });
      silent.well.change(1, { fault: () => "timeout" });
      const late = await silent.gateway.ask(balancePath());
      expect(late.status).toBe(504);
      expect(await refusalOf(late)).toBe("The upstream failed in 3 tries (timeout).");
    });
  });
}
