import { describe, expect, test } from "vitest";
import { SluiceError } from "../../src/errors.ts";
import { ADMIN_TOKEN, createHarness, fakeUpstream, TARGET } from "../fixtures/http-harness.ts";

const remote = { admin: { token: ADMIN_TOKEN }, callers: "public", peer: () => "203.0.113.9" } as const;
const operator = { authorization: `Bearer ${ADMIN_TOKEN}` };

describe("health", () => {
  test("is open to everybody", async () => {
    const response = await createHarness({ peer: () => undefined }).get("/-/health");
    expect([response.status, await response.json()]).toEqual([200, { status: "ok" }]);
    expect(response.headers.get("cache-control")).toBe("no-store");
  });
});

describe("ready", () => {
  test("is 200 while one upstream can serve", async () => {
    const upstreams = [fakeUpstream(), fakeUpstream({ name: "claude", missing: "ANTHROPIC_KEYS" })];
    const response = await createHarness({ upstreams, peer: () => undefined }).get("/-/ready");
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      status: "ready",
      upstreams: [
        { upstream: "etherscan", ready: true, why: null },
        { upstream: "claude", ready: false, why: "ANTHROPIC_KEYS is not set" },
      ],
    });
  });

  test("is 503 with the reasons when none can", async () => {
    const upstreams = [fakeUpstream({ capacity: 0 }), fakeUpstream({ name: "claude", missing: "ANTHROPIC_KEYS" })];
    const response = await createHarness({ upstreams }).get("/-/ready");
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({
      code: "pool_exhausted",
      upstreams: [
        { upstream: "etherscan", ready: false, why: "every target is disabled, parked or cooling" },
        { upstream: "claude", why: "ANTHROPIC_KEYS is not set" },
      ],
    });
  });

  test("is 503 when nothing is configured", async () => {
    const response = await createHarness({ upstreams: [fakeUpstream({ missing: "ETHERSCAN_KEYS" })] }).get("/-/ready");
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: "upstream_not_configured" });
  });
});

describe("stats", () => {
  test("shows every upstream, the version and the time since the start", async () => {
    const { get, clock } = createHarness(remote);
    await clock.advance(90_000);
    const response = await get("/-/stats", operator);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      version: "0.0.0-test",
      uptimeMs: 90_000,
      at: clock.now(),
      upstreams: [{ upstream: "etherscan", capacity: 3 }],
    });
  });

  test.each(["/-/stats", "/-/events"])("%s is the operator's", async (path) => {
    const response = await createHarness(remote).get(path);
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe('Bearer realm="sluice"');
    expect(await response.json()).toMatchObject({ code: "admin_only", type: "docs/errors.md#admin_only" });
    expect((await createHarness({ peer: () => undefined }).get(path)).status).toBe(401);
    const loopback = await createHarness().get(path);
    expect(loopback.status).toBe(200);
    await loopback.body?.cancel();
    expect((await createHarness().get(path, { origin: "https://evil.example" })).status).toBe(403);
  });
});

describe("orders", () => {
  const order = (path: string, headers: Record<string, string> = operator): Request =>
    new Request(`http://gate.example/-/admin/targets/${path}`, { method: "POST", headers });

  test.each(["enable", "disable"])("%s a target", async (action) => {
    const { handle, upstream } = createHarness(remote);
    const response = await handle(order(`etherscan/${TARGET}/${action}`));
    expect(await response.json()).toEqual({ upstream: "etherscan", target: TARGET, action });
    expect(upstream.orders).toEqual([`${action} ${TARGET}`]);
  });

  test.each([
    ["an unknown action", `etherscan/${TARGET}/delete`],
    ["an unknown upstream", `nope/${TARGET}/enable`],
    ["an unknown target", "etherscan/nope/enable"],
  ])("%s is a 404", async (_, path) => {
    const { handle, upstream } = createHarness(remote);
    const response = await handle(order(path));
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: "route_unknown" });
    expect(upstream.orders).toEqual([]);
  });

  test("are the operator's", async () => {
    const { handle, upstream } = createHarness(remote);
    expect((await handle(order(`etherscan/${TARGET}/disable`, {}))).status).toBe(401);
    expect(upstream.orders).toEqual([]);
  });

  test("that fail are problem documents", async () => {
    const upstream = {
      ...fakeUpstream(),
      order: () => Promise.reject(new SluiceError("closed", "The gateway is closing.", { retryAfterMs: 10 })),
    };
    const response = await createHarness(remote, upstream).handle(order(`etherscan/${TARGET}/disable`));
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await response.json()).toMatchObject({ code: "closed", retryAfterMs: 10 });
  });

  test("take an id that is written with escapes", async () => {
    const { handle, upstream } = createHarness(remote);
    const escaped = `%${TARGET.charCodeAt(0).toString(16)}${TARGET.slice(1)}`;
    expect((await handle(order(`etherscan/${escaped}/enable`))).status).toBe(200);
    expect(upstream.orders).toEqual([`enable ${TARGET}`]);
    expect((await handle(order("etherscan/%zz/enable"))).status).toBe(404);
  });
});
