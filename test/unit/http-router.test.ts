import { describe, expect, test } from "vitest";
import { SluiceError } from "../../src/errors.ts";
import { createHandler } from "../../src/http/router.ts";
import { ADMIN_TOKEN, answerOf, CALLER_TOKEN, createHarness, fakeUpstream, TARGET } from "../fixtures/http-harness.ts";

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

function post(path: string, body: BodyInit, headers: Record<string, string> = {}): Request {
  return new Request(`http://127.0.0.1:8787${path}`, { method: "POST", body, headers });
}

/** A request whose body comes in chunks without a declared length; counts how many were taken. */
function streamed(chunks: number, size: number): { request: Request; taken: () => number } {
  let taken = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (taken === chunks) return controller.close();
      taken++;
      controller.enqueue(new Uint8Array(size));
    },
  });
  const init: RequestInit & { duplex: "half" } = { method: "POST", body, duplex: "half" };
  return { request: new Request("http://127.0.0.1:8787/etherscan/v2/api", init), taken: () => taken };
}

describe("routes", () => {
  test("an unknown one is a 404 problem that lists what exists", async () => {
    const response = await createHarness().get("/nope");
    expect(response.status).toBe(404);
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    expect(await response.json()).toMatchObject({
      type: "docs/errors.md#route_unknown",
      title: "There is no such route",
      status: 404,
      code: "route_unknown",
      routes: [
        "GET|POST /etherscan/v2/api",
        "GET /-/health",
        "GET /-/ready",
        "GET /-/stats",
        "GET /-/events",
        "POST /-/admin/targets/:upstream/:target/:action",
      ],
    });
  });

  test.each(["/etherscan", "/etherscan/", "/etherscan/v3/api", "/etherscan/v2/api/more"])(
    "an unknown one below an upstream has the protocol's form: %s",
    async (path) => {
      const response = await createHarness().get(path);
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ refused: "route_unknown" });
    },
  );

  test("a name that only begins like an upstream's is not below it", async () => {
    expect((await createHarness().get("/etherscanner/v2/api")).headers.get("content-type")).toContain("problem+json");
  });

  test("the wrong method is a 405 that names the right ones, in the form of the place", async () => {
    const { handle } = createHarness();
    const call = await handle(new Request("http://127.0.0.1/etherscan/v2/api", { method: "DELETE" }));
    expect([call.status, call.headers.get("allow")]).toEqual([405, "GET, POST"]);
    expect(await call.json()).toMatchObject({ refused: "method_not_allowed" });
    const ops = await handle(new Request("http://127.0.0.1/-/stats", { method: "POST" }));
    expect([ops.status, ops.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    expect(await ops.json()).toMatchObject({ code: "method_not_allowed" });
    const admin = await createHarness().get("/-/admin/targets/etherscan/x/enable");
    expect([admin.status, admin.headers.get("allow")]).toEqual([405, "POST"]);
  });

  test("a trailing slash does no harm", async () => {
    expect((await createHarness().get("/etherscan/v2/api/")).status).toBe(200);
  });

  test("a base path stands before every route and in the list", async () => {
    const { get } = createHarness({ basePath: "/upstream/" });
    expect((await get("/upstream/etherscan/v2/api")).status).toBe(200);
    expect((await get("/upstream/-/health")).status).toBe(200);
    const outside = await get("/etherscan/v2/api");
    expect(outside.status).toBe(404);
    expect(await outside.text()).toContain('"GET /upstream/-/health"');
  });

  test.each(["upstream", "/a/:b", "/a*", "/a?b", "/a b"])(
    "a base path that is no plain path is refused: %s",
    (basePath) => {
      expect(() => createHarness({ basePath })).toThrow("basePath");
    },
  );

  test("HEAD on an operations route is GET without the body", async () => {
    const { handle } = createHarness();
    const response = await handle(new Request("http://127.0.0.1/-/health", { method: "HEAD" }));
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.body).toBe(null);
  });

  test("a query of thousands of equal names is matched in linear time, before anybody is asked for a token", async () => {
    const { get } = createHarness({ callers: { tokens: CALLER_TOKEN }, limits: { maxUrlBytes: 1_000_000 } });
    const started = performance.now();
    expect((await get(`/etherscan/v2/api?${"a=1&".repeat(100_000)}`)).status).toBe(401);
    expect(performance.now() - started).toBeLessThan(1_500);
  });
});

describe("a call", () => {
  test("reaches the upstream, and its answer comes back byte for byte with its status", async () => {
    const bytes = new Uint8Array([0xff, 0x00, 0x7b, 0xfe]);
    const headers = new Headers({ "content-type": "text/html", "set-cookie": "a=b", location: "https://x/?apikey=y" });
    const upstream = fakeUpstream({ send: async () => answerOf("", { status: 203, headers, body: bytes }) });
    const response = await createHarness({}, upstream).get("/etherscan/v2/api?module=account");
    expect(response.status).toBe(203);
    expect(await response.bytes()).toEqual(bytes);
    expect([...response.headers.keys()]).toEqual(["content-type", "x-request-id"]);
    expect(upstream.calls[0]?.call.inbound.url.search).toBe("?module=account");
    expect(upstream.calls[0]?.call.body).toBe(null);
  });

  test.each([204, 205, 304])("an answer of status %i has no body", async (status) => {
    const upstream = fakeUpstream({ send: async () => answerOf("x", { status }) });
    const response = await createHarness({}, upstream).get("/etherscan/v2/api");
    expect([response.status, response.body]).toEqual([status, null]);
  });

  test("brings its body and its signal", async () => {
    const { handle, upstream } = createHarness();
    const request = post("/etherscan/v2/api", "module=account&action=balance");
    expect((await handle(request)).status).toBe(200);
    expect(upstream.calls[0]?.call.body).toBe("module=account&action=balance");
    expect(upstream.calls[0]?.options?.signal).toBe(request.signal);
  });

  test("leaves its credentials for us behind, and keeps its other headers", async () => {
    const { get, upstream } = createHarness({ callers: { tokens: CALLER_TOKEN } });
    const headers = { ...bearer(CALLER_TOKEN), "x-api-key": CALLER_TOKEN, cookie: "a=b", accept: "text/plain" };
    expect((await get("/etherscan/v2/api", headers)).status).toBe(200);
    const inbound = upstream.calls[0]?.call.inbound;
    expect([...(inbound?.headers.keys() ?? [])]).toEqual(["accept"]);
  });

  test("does not change the request it came with", async () => {
    const { handle } = createHarness();
    const request = new Request("http://127.0.0.1/etherscan/v2/api?a=1", { headers: bearer("x") });
    await handle(request);
    expect(Object.keys(request)).toEqual(Object.keys(new Request("http://127.0.0.1/")));
    expect(request.headers.get("authorization")).toBe("Bearer x");
  });

  test("may use the token's other places", async () => {
    const upstream = fakeUpstream({
      callerToken: ({ url, body }) =>
        url.searchParams.get("apikey") ??
        (body === null ? null : new URLSearchParams(new TextDecoder().decode(body)).get("apikey")),
    });
    const { get, handle } = createHarness({ callers: { tokens: CALLER_TOKEN } }, upstream);
    expect((await get("/etherscan/v2/api", { "x-api-key": CALLER_TOKEN })).status).toBe(200);
    expect((await get("/etherscan/v2/api", bearer(CALLER_TOKEN))).status).toBe(200);
    expect((await get(`/etherscan/v2/api?apikey=${CALLER_TOKEN}`)).status).toBe(200);
    expect((await get("/etherscan/v2/api?apikey=another-token-0123456789")).status).toBe(401);
    const form = new URLSearchParams({ apikey: CALLER_TOKEN });
    expect((await handle(post("/etherscan/v2/api", form))).status).toBe(200);
    expect(upstream.calls.at(-1)?.call.body).toBe(form.toString());
    expect((await handle(post("/etherscan/v2/api", new URLSearchParams({ apikey: "no" })))).status).toBe(401);
  });

  test("without a token is a 401 in the protocol's form, its body unread", async () => {
    const { handle, upstream } = createHarness({ callers: { tokens: CALLER_TOKEN } });
    const { request, taken } = streamed(10, 1000);
    const before = taken();
    const response = await handle(request);
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe('Bearer realm="sluice"');
    expect(await response.json()).toMatchObject({ refused: "caller_unknown" });
    expect(taken() - before).toBeLessThanOrEqual(1);
    expect(upstream.calls).toEqual([]);
  });

  test("with a wrong token leaves a form unread, though a token might be in it", async () => {
    const upstream = fakeUpstream({ callerToken: ({ body }) => (body === null ? null : CALLER_TOKEN) });
    const { handle } = createHarness({ callers: { tokens: CALLER_TOKEN } }, upstream);
    const form = new URLSearchParams({ apikey: CALLER_TOKEN });
    const request = post("/etherscan/v2/api", form, { "x-api-key": "wrong-token-0123456789abcdef" });
    expect((await handle(request)).status).toBe(401);
    expect(request.bodyUsed).toBe(false);
  });

  test("a lost route comes before the token, a wrong method too", async () => {
    const { get, handle } = createHarness({ callers: { tokens: CALLER_TOKEN } });
    expect((await get("/etherscan/v9")).status).toBe(404);
    expect((await handle(new Request("http://127.0.0.1/etherscan/v2/api", { method: "PUT" }))).status).toBe(405);
  });

  test("from outside without callers configured is a 503 that says what to set", async () => {
    const response = await createHarness({ peer: () => "203.0.113.9" }).get("/etherscan/v2/api");
    expect(response.status).toBe(503);
    const text = await response.text();
    expect(text).toContain("callers_not_configured");
    expect(text).toContain("SLUICE_TOKENS");
  });

  test("to an upstream without configuration is the upstream's own 503", async () => {
    const response = await createHarness({}, fakeUpstream({ missing: "ETHERSCAN_KEYS" })).get("/etherscan/v2/api");
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ refused: "upstream_not_configured", message: "Set ETHERSCAN_KEYS." });
  });

  test("gets Retry-After in whole seconds, rounded up", async () => {
    const upstream = fakeUpstream({
      send: () => Promise.reject(new SluiceError("queue_full", "Too many.", { retryAfterMs: 1200 })),
    });
    const response = await createHarness({}, upstream).get("/etherscan/v2/api");
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "2"]);
  });
});

describe("bounds", () => {
  const limits = { maxRequestBytes: 1000, maxUrlBytes: 200 };

  test("a declared length beyond the limit is refused unread", async () => {
    const { handle, upstream } = createHarness({ limits });
    const response = await handle(post("/etherscan/v2/api", "x", { "content-length": "1001" }));
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ refused: "request_too_large" });
    expect(upstream.calls).toEqual([]);
  });

  test("an undeclared one as soon as it passes the limit", async () => {
    const { handle } = createHarness({ limits });
    const { request, taken } = streamed(100, 400);
    expect((await handle(request)).status).toBe(413);
    expect(taken()).toBeLessThan(6);
  });

  test("a body of exactly the limit passes", async () => {
    const { handle, upstream } = createHarness({ limits });
    expect((await handle(post("/etherscan/v2/api", "x".repeat(1000)))).status).toBe(200);
    expect(upstream.calls[0]?.call.body).toHaveLength(1000);
    expect((await handle(post("/etherscan/v2/api", "x".repeat(1001)))).status).toBe(413);
  });

  test("a long URL is a 414 in the form of the place", async () => {
    const { get } = createHarness({ limits });
    const call = await get(`/etherscan/v2/api?q=${"x".repeat(200)}`);
    expect(call.status).toBe(414);
    expect(await call.json()).toMatchObject({ refused: "request_too_large" });
    const other = await get(`/-/health?${"x".repeat(200)}`);
    expect(other.status).toBe(414);
    expect(await other.json()).toMatchObject({ code: "request_too_large", status: 414 });
    expect((await get(`/${"x".repeat(200)}`)).status).toBe(414);
  });

  test("the defaults are 4 MiB and 64 KiB", async () => {
    const { get, handle } = createHarness();
    expect((await get(`/etherscan/v2/api?q=${"x".repeat(60 * 1024)}`)).status).toBe(200);
    expect((await get(`/etherscan/v2/api?q=${"x".repeat(64 * 1024)}`)).status).toBe(414);
    expect((await handle(post("/etherscan/v2/api", new Uint8Array(4 * 1024 * 1024)))).status).toBe(200);
    expect((await handle(post("/etherscan/v2/api", new Uint8Array(4 * 1024 * 1024 + 1)))).status).toBe(413);
  });

  test("a body that breaks off is the client's fault", async () => {
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error("reset")) });
    const init: RequestInit & { duplex: "half" } = { method: "POST", body, duplex: "half" };
    const response = await createHarness().handle(new Request("http://127.0.0.1/etherscan/v2/api", init));
    expect(response.status).toBe(400);
  });
});

describe("the request's id", () => {
  test("is the client's own when it is short and harmless", async () => {
    const { get } = createHarness();
    expect((await get("/-/health", { "x-request-id": "Job-7.a_b" })).headers.get("x-request-id")).toBe("Job-7.a_b");
    expect((await get("/nope", { "x-request-id": "Job-7" })).headers.get("x-request-id")).toBe("Job-7");
  });

  test.each(["with space", "x".repeat(65), "<script>", ""])("is made when it is not: %s", async (given) => {
    const id = (await createHarness().get("/etherscan/v2/api", { "x-request-id": given })).headers.get("x-request-id");
    expect(id).toMatch(/^[\da-f]{16}$/);
  });

  test("differs from request to request and stands in the problem", async () => {
    const { get } = createHarness();
    const [a, b] = [await get("/nope"), await get("/nope")];
    expect(a.headers.get("x-request-id")).not.toBe(b.headers.get("x-request-id"));
    expect(await a.json()).toMatchObject({ requestId: a.headers.get("x-request-id") });
  });
});

describe("the trace", () => {
  const attempt = { target: TARGET, waitedMs: 0, tookMs: 1, status: null, class: "network", reason: "reset" } as const;
  const asked = { "x-sluice-trace": "1" };

  test("comes only when asked for", async () => {
    const { get } = createHarness();
    expect((await get("/etherscan/v2/api")).headers.get("x-sluice-trace")).toBe(null);
    expect((await get("/etherscan/v2/api", asked)).headers.get("x-sluice-trace")).toBe(
      `{"upstream":"etherscan","attempts":[{"target":"${TARGET}","waitedMs":1,"tookMs":21,"status":200,"class":"ok","reason":"ok"}]}`,
    );
  });

  test("is bounded, keeps the last attempts and stays in ASCII", async () => {
    const attempts = Array.from({ length: 100 }, (_, i) => ({ ...attempt, reason: `versuch_ü_${i}` }));
    const upstream = fakeUpstream({ send: async () => answerOf("", { attempts }) });
    const trace =
      (await createHarness({}, upstream).get("/etherscan/v2/api", asked)).headers.get("x-sluice-trace") ?? "";
    expect(trace.length).toBeLessThanOrEqual(2048);
    expect(trace).toMatch(/^[\x20-\x7e]+$/);
    const { attempts: kept, omitted } = JSON.parse(trace) as { attempts: { reason: string }[]; omitted: number };
    expect(kept.length + omitted).toBe(100);
    expect(kept.length).toBeGreaterThan(10);
    expect(kept.at(-1)?.reason).toBe("versuch_ü_99");
  });

  test("comes with an error that tells its attempts", async () => {
    const error = new SluiceError("pool_exhausted", "None.", { facts: { attempts: [attempt] } });
    const upstream = fakeUpstream({ send: () => Promise.reject(error) });
    const response = await createHarness({}, upstream).get("/etherscan/v2/api", asked);
    expect(response.status).toBe(503);
    expect(response.headers.get("x-sluice-trace")).toContain('"reason":"reset"');
  });
});

describe("the priority", () => {
  test.each(["interactive", "batch"])("%s is anybody's", async (priority) => {
    const { get, upstream } = createHarness({ callers: "public", peer: () => "203.0.113.9" });
    expect((await get("/etherscan/v2/api", { "x-sluice-priority": priority })).status).toBe(200);
    expect(upstream.calls[0]?.options?.priority).toBe(priority);
  });

  test("is left open when not given", async () => {
    const { get, upstream } = createHarness();
    await get("/etherscan/v2/api");
    expect(upstream.calls[0]?.options?.priority).toBe(undefined);
  });

  test("of another name is a 400", async () => {
    const response = await createHarness().get("/etherscan/v2/api", { "x-sluice-priority": "urgent" });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ refused: "request_invalid" });
  });

  test("critical is the operator's", async () => {
    const critical = { "x-sluice-priority": "critical" };
    const remote = { callers: { tokens: CALLER_TOKEN }, admin: { token: ADMIN_TOKEN }, peer: () => "203.0.113.9" };
    expect(
      (await createHarness(remote).get("/etherscan/v2/api", { ...bearer(CALLER_TOKEN), ...critical })).status,
    ).toBe(403);
    const both = { ...bearer(ADMIN_TOKEN), "x-api-key": CALLER_TOKEN, ...critical };
    const { get, upstream } = createHarness(remote);
    expect((await get("/etherscan/v2/api", both)).status).toBe(200);
    expect(upstream.calls[0]?.options?.priority).toBe("critical");
    expect((await createHarness().get("/etherscan/v2/api", critical)).status).toBe(200);
    expect(
      (await createHarness({ callers: "public", peer: () => "203.0.113.9" }).get("/etherscan/v2/api", critical)).status,
    ).toBe(403);
  });
});

describe("CORS", () => {
  const origin = "https://app.example";
  const options = (path: string, headers: Record<string, string>): Request =>
    new Request(`http://127.0.0.1${path}`, { method: "OPTIONS", headers });

  test("is off by default: OPTIONS is a wrong method, answers carry nothing", async () => {
    const { handle, get } = createHarness({ callers: "public" });
    expect((await handle(options("/etherscan/v2/api", { origin }))).status).toBe(405);
    const answer = await get("/etherscan/v2/api", { origin });
    expect([...answer.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
  });

  test("answers a preflight with 204 and the headers asked for, without a token", async () => {
    const { handle, upstream } = createHarness({ callers: { tokens: CALLER_TOKEN }, cors: { origins: [origin] } });
    const response = await handle(
      options("/etherscan/v2/api", { origin, "access-control-request-headers": "x-stainless-os, authorization" }),
    );
    expect(response.status).toBe(204);
    expect(response.headers.get("access-control-allow-origin")).toBe(origin);
    expect(response.headers.get("access-control-allow-headers")).toBe("x-stainless-os, authorization");
    expect(response.headers.get("access-control-allow-methods")).toBe("GET, HEAD, POST");
    expect(response.headers.get("vary")).toBe("Origin");
    expect(upstream.calls).toEqual([]);
  });

  test("gives another origin no permission", async () => {
    const { handle } = createHarness({ cors: { origins: [origin] } });
    const response = await handle(options("/etherscan/v2/api", { origin: "https://evil.example" }));
    expect(response.status).toBe(204);
    expect([...response.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
  });

  test("lets the page read answers and errors", async () => {
    const { get } = createHarness({ callers: { tokens: CALLER_TOKEN }, cors: { origins: "*" } });
    for (const path of ["/etherscan/v2/api", "/-/health", "/nope"]) {
      expect((await get(path, { origin })).headers.get("access-control-allow-origin")).toBe("*");
    }
  });

  test("for every page is no key to a gateway without tokens; for a named page it is", async () => {
    expect((await createHarness({ cors: { origins: "*" } }).get("/etherscan/v2/api", { origin })).status).toBe(403);
    expect((await createHarness({ cors: { origins: [origin] } }).get("/etherscan/v2/api", { origin })).status).toBe(
      200,
    );
  });
});

describe("failures", () => {
  const secret = "https://rpc.example/v3/unexpected-secret-0123456789";

  test("an unexpected throw is a 500 in the protocol's form, without its text, and reported", async () => {
    const thrown = new TypeError(`fetch failed: ${secret}`);
    const { get, reports, feed } = createHarness({}, fakeUpstream({ send: () => Promise.reject(thrown) }));
    const events: unknown[] = [];
    feed.subscribe({ next: ({ event }) => events.push(event), end: () => undefined });
    const response = await get("/etherscan/v2/api", { "x-request-id": "job-1" });
    expect(response.status).toBe(500);
    const text = await response.text();
    expect(text).toContain("internal");
    expect(text).toContain("job-1");
    expect(text).not.toContain("unexpected-secret");
    expect(reports).toEqual([thrown]);
    expect(events).toMatchObject([{ type: "call_failed", upstream: "etherscan", code: "internal" }]);
  });

  test("a protocol that fails to refuse leaves a problem document", async () => {
    const upstream = fakeUpstream({ parse: () => Promise.reject(new Error("no")) as never });
    const broken = {
      ...upstream,
      protocol: {
        ...upstream.protocol,
        refuse: () => {
          throw new Error(secret);
        },
      },
    };
    const { get, reports } = createHarness({}, broken);
    const response = await get("/etherscan/v9");
    expect(response.status).toBe(500);
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    expect(await response.text()).not.toContain("unexpected-secret");
    expect(reports).toHaveLength(1);
  });

  test("a reporter that throws does not take the answer with it", async () => {
    const upstream = fakeUpstream({ send: () => Promise.reject(new Error("x")) });
    const report = (): never => {
      throw new Error("reporter");
    };
    expect((await createHarness({ report }, upstream).get("/etherscan/v2/api")).status).toBe(500);
  });

  test("a client that leaves gets a 499 that nobody reads, and nothing is reported", async () => {
    const abort = new AbortController();
    const upstream = fakeUpstream({
      send: (_, options) =>
        new Promise((_resolve, reject) => {
          options?.signal?.addEventListener("abort", () => reject(new SluiceError("client_gone", "Gone.")));
        }),
    });
    const { handle, reports } = createHarness({}, upstream);
    const request = new Request("http://127.0.0.1/etherscan/v2/api", { signal: abort.signal });
    const response = handle(request);
    // The call must be under way before its client leaves.
    while (upstream.calls.length === 0) await Promise.resolve();
    abort.abort();
    expect((await response).status).toBe(499);
    expect(reports).toEqual([]);
  });

  test("bad tokens are refused at creation", () => {
    const { clock, feed } = createHarness();
    const make = (): unknown =>
      createHandler({ upstreams: [], clock, feed, version: "0", callers: { tokens: "with space" } });
    expect(make).toThrow("callers.tokens (SLUICE_TOKENS): token 1");
  });
});
