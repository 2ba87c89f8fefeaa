import { describe, expect, test } from "vitest";
import { createGate } from "../../src/callers/gate.ts";
import type { GateOptions } from "../../src/callers/gate.ts";
import { ADMIN_TOKEN, CALLER_TOKEN } from "../fixtures/http-harness.ts";

interface Scene extends GateOptions {
  readonly from?: string | null;
  readonly url?: string;
  readonly headers?: Record<string, string>;
  readonly tokens?: readonly string[];
}

function enter(scene: Scene): { caller: Promise<string | null>; operator: Promise<string | null> } {
  const { from = "127.0.0.1", url = "http://127.0.0.1:8787/x", headers = {}, tokens = [], ...options } = scene;
  const gate = createGate({ peer: () => from ?? undefined, ...options });
  const visit = { request: new Request(url, { headers }), url: new URL(url) };
  return {
    caller: Promise.resolve(gate.caller(visit, tokens)).then((error) => error?.code ?? null),
    operator: Promise.resolve(gate.operator(visit)).then((error) => error?.code ?? null),
  };
}

describe("without tokens", () => {
  test.each<[string, Scene, string | null]>([
    ["a program on this machine enters", {}, null],
    ["by IPv6 too", { from: "::1", url: "http://[::1]:8787/x" }, null],
    ["a remote peer does not", { from: "203.0.113.9" }, "callers_not_configured"],
    ["a peer in the private network does not", { from: "192.168.1.7" }, "callers_not_configured"],
    ["an unknown peer does not", { from: null }, "callers_not_configured"],
    [
      "a header cannot make a peer local",
      { from: "203.0.113.9", headers: { "x-forwarded-for": "127.0.0.1" } },
      "callers_not_configured",
    ],
    [
      "what a proxy on this machine brings is not local",
      { headers: { "x-forwarded-for": "203.0.113.9" } },
      "callers_not_configured",
    ],
    ["neither is what comes by way of one", { headers: { via: "1.1 proxy" } }, "callers_not_configured"],
    ["nor from a network in front", { headers: { "cf-connecting-ip": "203.0.113.9" } }, "callers_not_configured"],
    ["a rebound name is refused", { url: "http://rebound.example:8787/x" }, "forbidden_origin"],
    ["a rebound Host header is refused", { headers: { host: "rebound.example:8787" } }, "forbidden_origin"],
    ["a foreign page is refused", { headers: { origin: "https://evil.example" } }, "forbidden_origin"],
    ["a page without an origin of its own is refused", { headers: { origin: "null" } }, "forbidden_origin"],
    ["a page on this machine enters", { headers: { origin: "http://localhost:3000" } }, null],
    ["a foreign page's image is refused", { headers: { "sec-fetch-site": "cross-site" } }, "forbidden_origin"],
    ["a typed address enters", { headers: { "sec-fetch-site": "none" } }, null],
    [
      "a local page's image enters",
      { headers: { "sec-fetch-site": "cross-site", referer: "http://localhost:3000/" } },
      null,
    ],
    ["a named origin enters", { origins: ["https://app.example"], headers: { origin: "https://app.example" } }, null],
    [
      "a named origin does not move a remote peer",
      { from: "203.0.113.9", origins: ["https://app.example"], headers: { origin: "https://app.example" } },
      "callers_not_configured",
    ],
    [
      "a token of an unset option is no list",
      { callers: { tokens: undefined }, from: "203.0.113.9" },
      "callers_not_configured",
    ],
  ])("%s", async (_, scene, code) => {
    expect(await enter(scene).caller).toBe(code);
  });
});

describe("with tokens", () => {
  const callers = { tokens: [CALLER_TOKEN] };
  test.each<[string, Scene, string | null]>([
    ["loopback needs one too", { callers }, "caller_unknown"],
    ["a right one enters from anywhere", { callers, from: "203.0.113.9", tokens: [CALLER_TOKEN] }, null],
    [
      "under any host and origin",
      { callers, url: "https://gate.example/x", headers: { origin: "https://evil.example" }, tokens: [CALLER_TOKEN] },
      null,
    ],
    ["a wrong one does not", { callers, tokens: ["caller-token-0123456789abcdeX"] }, "caller_unknown"],
    ["one right of several is enough", { callers, tokens: ["YourApiKeyToken", CALLER_TOKEN] }, null],
    ["the operator's is good too", { callers, admin: { token: ADMIN_TOKEN }, tokens: [ADMIN_TOKEN] }, null],
  ])("%s", async (_, scene, code) => {
    expect(await enter(scene).caller).toBe(code);
  });
});

test("public lets everybody in", async () => {
  expect(await enter({ callers: "public", from: null, headers: { origin: "https://any.example" } }).caller).toBe(null);
});

describe("the operator", () => {
  const admin = { token: ADMIN_TOKEN };
  test.each<[string, Scene, string | null]>([
    ["needs the token on loopback too", { admin }, "admin_only"],
    [
      "enters with it from anywhere",
      { admin, from: "203.0.113.9", headers: { authorization: `Bearer ${ADMIN_TOKEN}` } },
      null,
    ],
    ["by a scheme in any case", { admin, headers: { authorization: `bearer ${ADMIN_TOKEN}` } }, null],
    [
      "not with a caller's token",
      { admin, callers: { tokens: CALLER_TOKEN }, headers: { authorization: `Bearer ${CALLER_TOKEN}` } },
      "admin_only",
    ],
    ["not by x-api-key", { admin, headers: { "x-api-key": ADMIN_TOKEN } }, "admin_only"],
    ["not by another scheme", { admin, headers: { authorization: `Basic ${ADMIN_TOKEN}` } }, "admin_only"],
    ["without a token set: this machine", {}, null],
    ["without a token set: nobody else", { from: "203.0.113.9" }, "admin_only"],
    ["public callers are no operators", { callers: "public", from: "203.0.113.9" }, "admin_only"],
    ["without a token set: no foreign page", { headers: { origin: "https://evil.example" } }, "forbidden_origin"],
    [
      "a named origin is not the operator",
      { origins: ["https://app.example"], headers: { origin: "https://app.example" } },
      "forbidden_origin",
    ],
  ])("%s", async (_, scene, code) => {
    expect(await enter(scene).operator).toBe(code);
  });
});

test("the operator's token cannot be a caller's", () => {
  expect(() => createGate({ callers: { tokens: [ADMIN_TOKEN] }, admin: { token: ADMIN_TOKEN } })).toThrow(
    "also in callers.tokens",
  );
});

test("a token that was right before needs no promise", async () => {
  const gate = createGate({ callers: { tokens: [CALLER_TOKEN] } });
  const visit = { request: new Request("http://x.example/"), url: new URL("http://x.example/") };
  expect(gate.caller(visit, [CALLER_TOKEN])).toBeInstanceOf(Promise);
  await gate.caller(visit, [CALLER_TOKEN]);
  expect(gate.caller(visit, [CALLER_TOKEN])).toBe(null);
});
