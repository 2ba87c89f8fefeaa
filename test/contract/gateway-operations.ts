import { describe, expect, onTestFinished, test } from "vitest";
import { readEvents } from "../fixtures/event-reader.ts";
import { type SandboxPool, startPool } from "../fixtures/sandbox-pool.ts";
import { balancePath, type GatewayClient, type OpenGateway, problemOf } from "./gateway-client.ts";

async function openWithPool(open: OpenGateway): Promise<{ gateway: GatewayClient; pool: SandboxPool }> {
  const pool = await startPool(3);
  onTestFinished(() => pool.close());
  return { gateway: await open(pool.env), pool };
}

/** The routes below `/-/`. */
export function describeOperations(open: OpenGateway): void {
  describe("operations", () => {
    test("health and readiness", async () => {
      const { gateway } = await openWithPool(open);
      const health = await gateway.ask("/-/health");
      expect(health.status).toBe(200);
      expect(health.headers.get("cache-control")).toBe("no-store");
      expect(await health.json()).toEqual({ status: "ok" });
      const ready = await gateway.ask("/-/ready");
      expect(await ready.json()).toEqual({
        status: "ready",
        upstreams: [{ upstream: "etherscan", ready: true, why: null }],
      });
      const head = await gateway.ask("/-/health", { method: "HEAD" });
      expect([head.status, await head.text()]).toEqual([200, ""]);
      const wrong = await gateway.ask("/-/health", { method: "POST", body: "x" });
      expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
      expect((await problemOf(wrong)).code).toBe("method_not_allowed");
    });

    test("stats count what the upstream counts", async () => {
      const { gateway, pool } = await openWithPool(open);
      await Promise.all(Array.from({ length: 6 }, async () => (await gateway.ask(balancePath())).text()));
      const stats = await gateway.stats();
      expect(stats).toMatchObject({ upstream: "etherscan", missing: null, capacity: 9, queued: 0, inFlight: 0 });
      expect(stats.calls).toEqual({ ok: 6, failed: 0, attempts: 6, refused: 0 });
      expect(stats.targets.map(({ today }) => today)).toEqual(
        pool.sandbox.counts().keys.map(({ received }) => received),
      );
      for (const { id } of stats.targets) expect(id).toMatch(/^[0-9a-f]{12}$/);
    });

    test("an operator takes a key out and puts it back", async () => {
      const { gateway, pool } = await openWithPool(open);
      const id = (await gateway.stats()).targets[1]?.id;
      const order = (action: string, target = id): Promise<Response> =>
        gateway.ask(`/-/admin/targets/etherscan/${target}/${action}`, { method: "POST" });
      const off = await order("disable");
      expect(await off.json()).toEqual({ upstream: "etherscan", target: id, action: "disable" });
      expect((await gateway.stats()).targets[1]).toMatchObject({ state: "disabled", why: "operator" });
      await Promise.all(Array.from({ length: 4 }, async () => (await gateway.ask(balancePath())).text()));
      expect(pool.sandbox.counts().keys[1]?.received).toBe(0);
      expect((await order("enable")).status).toBe(200);
      await Promise.all(Array.from({ length: 3 }, async () => (await gateway.ask(balancePath())).text()));
      expect(pool.sandbox.counts().keys[1]?.received).toBeGreaterThan(0);

      const unknown = await order("disable", "000000000000");
      expect(unknown.status).toBe(404);
      expect((await problemOf(unknown))["targets"]).toContain(id);
      expect((await order("destroy")).status).toBe(404);
      expect((await gateway.ask(`/-/admin/targets/etherscan/${id}/disable`)).status).toBe(405);
    });

    test("events come live, and after a pause from where their reader was", async () => {
      const { gateway, pool } = await openWithPool(open);
      await Promise.all(Array.from({ length: 3 }, async () => (await gateway.ask(balancePath())).text()));
      const ids = (await gateway.stats()).targets.map(({ id }) => id);
      const first = await gateway.ask("/-/events");
      expect(first.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
      const live = readEvents(first);
      const order = (position: number, action: string): Promise<Response> =>
        gateway.ask(`/-/admin/targets/etherscan/${ids[position - 1]}/${action}`, { method: "POST" });
      await order(1, "disable");
      const seen = await live.next();
      expect(seen).toMatchObject({
        type: "target_disabled",
        data: { type: "target_disabled", upstream: "etherscan", target: ids[0], reason: "operator" },
      });
      await live.close();

      pool.change(2, { invalid: true });
      await Promise.all(Array.from({ length: 4 }, async () => (await gateway.ask(balancePath())).text()));
      await order(1, "enable");
      const resumed = readEvents(await gateway.ask("/-/events", { headers: { "last-event-id": seen.id ?? "" } }));
      expect(await resumed.next()).toMatchObject({
        type: "target_disabled",
        data: { target: ids[1], reason: "key_invalid" },
      });
      expect(await resumed.next()).toMatchObject({ type: "target_enabled", data: { target: ids[0] } });
      await order(1, "disable");
      expect(await resumed.next()).toMatchObject({ type: "target_disabled", data: { target: ids[0] } });
      await resumed.close();

      const lost = readEvents(await gateway.ask("/-/events", { headers: { "last-event-id": "1-1" } }));
      expect(await lost.next()).toMatchObject({ type: "dropped", data: { count: null } });
      await lost.close();
    });
  });
}
