import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CallOptions, CallResult } from "../../src/engine/call.ts";
import type { InboundRequest } from "../../src/engine/protocol.ts";
import type { Target } from "../../src/engine/target.ts";
import { SluiceError } from "../../src/errors.ts";
import type { EtherscanCall } from "../../src/upstreams/etherscan/call.ts";
import { etherscanProtocol } from "../../src/upstreams/etherscan/protocol.ts";

const KEY = "PROTOCOLTESTKEY0000000000000000001";
const FORM_TYPE = "application/x-www-form-urlencoded";
const V2 = "https://api.etherscan.io/v2/api";
const CLONE = "https://eth.blockscout.com/api";

const target = (baseUrl: string = V2): Target => ({
  id: "id",
  bucket: "id",
  baseUrl,
  credential: KEY,
  priority: 1,
  position: 1,
});

function parse(
  version: 1 | 2,
  query: string,
  form?: string | Uint8Array<ArrayBuffer>,
  type = FORM_TYPE,
): EtherscanCall {
  const path = version === 2 ? "/v2/api" : "/api";
  const route = etherscanProtocol.routes.find((candidate) => candidate.path === path);
  if (route === undefined) throw new Error(`no route ${path}`);
  return route.parse(inbound(path, query, form, type));
}

function inbound(
  path: string,
  query: string,
  form?: string | Uint8Array<ArrayBuffer>,
  type = FORM_TYPE,
): InboundRequest {
  const headers = new Headers({ accept: "application/json", cookie: "a=b", authorization: "Bearer x", "x-own": "1" });
  if (form !== undefined) headers.set("content-type", type);
  return {
    method: form === undefined ? "GET" : "POST",
    url: new URL(`http://127.0.0.1:8787/etherscan${path}${query}`),
    headers,
    body: form === undefined ? null : typeof form === "string" ? new TextEncoder().encode(form) : form,
  };
}

const sentQuery = (call: EtherscanCall, baseUrl?: string): string =>
  new URL(etherscanProtocol.attach(call, target(baseUrl)).url).search;

const failure = (run: () => unknown): SluiceError => {
  try {
    run();
  } catch (error) {
    if (error instanceof SluiceError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
};

describe("attach", () => {
  it("sends the client's parameters as they were, and the key", () => {
    const call = parse(2, "?chainid=1&module=account&action=balance&address=0xAb&tag=a%20b+c&tag=&x=%FF%C3%BC");
    expect(sentQuery(call)).toBe(
      `?chainid=1&module=account&action=balance&address=0xAb&tag=a%20b+c&tag=&x=%FF%C3%BC&apikey=${KEY}`,
    );
  });

  it("drops the client's own apikey in every spelling", () => {
    const call = parse(2, "?apikey=a&module=m&ApiKey=b&action=x&api%6Bey=c&apikey&APIKEY=");
    expect(sentQuery(call)).toBe(`?module=m&action=x&apikey=${KEY}`);
  });

  it("sends no header of the client but accept and content-type, and follows no redirect", () => {
    const get = etherscanProtocol.attach(parse(2, "?module=m&action=a"), target());
    expect([...get.headers.keys()]).toEqual(["accept"]);
    expect(get.redirect).toBe("manual");
    const post = etherscanProtocol.attach(parse(2, "", "module=m&action=a"), target());
    expect([...post.headers.keys()].sort()).toEqual(["accept", "content-type"]);
  });

  it("puts the key into a form, and leaves the form's bytes alone", async () => {
    const form = "module=contract&action=verifysourcecode&sourceCode=a%20b+c%0A%FF&apikey=mine&x=1&x=2";
    const request = etherscanProtocol.attach(parse(2, "?chainid=10&apikey=mine", form), target());
    expect(request.method).toBe("POST");
    expect(new URL(request.url).search).toBe("?chainid=10");
    expect(await request.text()).toBe(
      `module=contract&action=verifysourcecode&sourceCode=a%20b+c%0A%FF&x=1&x=2&apikey=${KEY}`,
    );
  });

  it("passes another body byte for byte, with the key in the query", async () => {
    const bytes = new Uint8Array([0, 255, 10, 195]);
    const request = etherscanProtocol.attach(parse(2, "?module=m&action=a", bytes, "application/json"), target());
    expect(new Uint8Array(await request.arrayBuffer())).toEqual(bytes);
    expect(request.headers.get("content-type")).toBe("application/json");
    expect(new URL(request.url).search).toBe(`?module=m&action=a&apikey=${KEY}`);
  });

  it("gives v1 calls the mainnet on a v2 base, and nothing on a clone", () => {
    expect(sentQuery(parse(1, "?module=m&action=a"))).toBe(`?chainid=1&module=m&action=a&apikey=${KEY}`);
    expect(sentQuery(parse(1, "?module=m&action=a&chainid=10"))).toBe(`?module=m&action=a&chainid=10&apikey=${KEY}`);
    expect(sentQuery(parse(2, "?module=m&action=a"))).toBe(`?module=m&action=a&apikey=${KEY}`);
    expect(sentQuery(parse(1, "?module=m&action=a"), CLONE)).toBe(`?module=m&action=a&apikey=${KEY}`);
    expect(sentQuery(parse(2, "?module=m&action=a&chainid=10"), CLONE)).toBe(
      `?module=m&action=a&chainid=10&apikey=${KEY}`,
    );
  });

  it("writes a form's chain into the URL of a v2 base, which reads it there alone", () => {
    expect(sentQuery(parse(2, "", "module=m&action=a&chainid=8453"))).toBe("?chainid=8453");
    expect(sentQuery(parse(1, "", "module=m&action=a"))).toBe("?chainid=1");
    expect(sentQuery(parse(1, "", "module=m&action=a"), CLONE)).toBe("");
  });

  it("keeps a base URL's own query, and a target without a key gets none", () => {
    const call = parse(2, "?module=m&action=a");
    expect(sentQuery(call, "https://example.org/api?network=x")).toBe(`?network=x&module=m&action=a&apikey=${KEY}`);
    const { credential: _, ...keyless } = target(CLONE);
    expect(new URL(etherscanProtocol.attach(call, keyless).url).search).toBe("?module=m&action=a");
  });

  it("keeps any parameters through parse and attach", async () => {
    const pair = fc.tuple(
      fc.string({ unit: "grapheme", maxLength: 20 }).filter((name) => name.toLowerCase() !== "apikey"),
      fc.string({ unit: "grapheme", maxLength: 40 }),
    );
    const encode = fc.constantFrom(
      (text: string) => encodeURIComponent(text),
      (text: string) => new URLSearchParams({ v: text }).toString().slice(2),
    );
    const run = fc.asyncProperty(
      fc.array(pair, { maxLength: 12 }),
      encode,
      fc.boolean(),
      async (pairs, write, post) => {
        const all = [["module", "m"], ["action", "a"], ...pairs, ["chainid", "1"]] as [string, string][];
        const text = all.map(([name, value]) => `${write(name)}=${write(value)}`).join("&");
        const call = post ? parse(2, "", text) : parse(2, `?${text}`);
        const request = etherscanProtocol.attach(call, target());
        const sent = post ? await request.text() : new URL(request.url).search.slice(1);
        expect(sent.endsWith(`&apikey=${KEY}`)).toBe(true);
        expect([...new URLSearchParams(sent)]).toEqual([...all, ["apikey", KEY]]);
      },
    );
    await fc.assert(run, { numRuns: 200 });
  });
});

describe("parse", () => {
  it.each([
    ["", "module and action"],
    ["?module=account", "action"],
    ["?action=balance&apikey=x", "module"],
    ["?module=&action=", "module and action"],
  ])("asks for what is missing in %j", (query, missing) => {
    const error = failure(() => parse(2, query));
    expect(error.code).toBe("request_invalid");
    expect(error.message).toContain(`${missing}: not given`);
  });

  it("refuses a query that no upstream takes, and a form that is no text", () => {
    const long = failure(() => parse(2, `?module=m&action=a&x=${"y".repeat(5_000_000)}`));
    expect([long.code, long.status]).toEqual(["request_too_large", 414]);
    expect(long.message).toContain("POST form");
    const binary = failure(() => parse(2, "?module=m&action=a", new Uint8Array([0x61, 0xff])));
    expect(binary.code).toBe("request_invalid");
  });

  it("takes a POST without a body", () => {
    expect(sentQuery(parse(2, "?module=m&action=a", "", "text/plain"))).toBe(`?module=m&action=a&apikey=${KEY}`);
  });
});

describe("what a call is", () => {
  it("has facts by lower-case name, the first of repeated ones, the chain of v1", () => {
    expect(etherscanProtocol.facts(parse(1, "?Module=account&ACTION=txlist&page=1&page=2"))).toEqual({
      chainid: "1",
      module: "account",
      action: "txlist",
      page: "1",
    });
    expect(etherscanProtocol.facts(parse(1, "?chainid=10", "module=m&action=a&x=1"))).toEqual({
      chainid: "10",
      module: "m",
      action: "a",
      x: "1",
    });
    expect(etherscanProtocol.facts(parse(2, "?module=m&action=a&__proto__=x"))["module"]).toBe("m");
  });

  it("needs its chain and its method, and weighs one", () => {
    const call = parse(2, "?chainid=8453&module=Stats&action=dailytx");
    expect(etherscanProtocol.needs(call)).toEqual(["chain:8453", "method:stats.dailytx"]);
    expect(etherscanProtocol.needs(parse(2, "?module=m&action=a"))).toEqual(["method:m.a"]);
    expect(etherscanProtocol.weigh(call)).toBe(1);
  });

  it("finds the caller's token where Etherscan clients put their key", () => {
    const tokenOf = (query: string, form?: string, type?: string): string | null | undefined =>
      etherscanProtocol.callerToken?.(inbound("/v2/api", query, form, type));
    expect(tokenOf("?module=m&ApiKey=tok%20en")).toBe("tok en");
    expect(tokenOf("?module=m", "action=a&apikey=token")).toBe("token");
    expect(tokenOf("?module=m", '{"apikey":"token"}', "application/json")).toBeNull();
    expect(tokenOf("?module=m&apikey=")).toBeNull();
    expect(tokenOf("")).toBeNull();
  });
});

describe("refuse", () => {
  it("speaks the explorers' envelope", async () => {
    const error = new SluiceError("queue_full", "The queue is full; try again later.", { retryAfterMs: 1200 });
    const response = etherscanProtocol.refuse(error);
    expect(response.status).toBe(429);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("retry-after")).toBe("2");
    expect(await response.json()).toEqual({ status: "0", message: "NOTOK", result: error.message });
    expect(etherscanProtocol.refuse(new SluiceError("request_invalid", "x")).headers.has("retry-after")).toBe(false);
  });
});

describe("face", () => {
  function face(body = '{"status":"1","message":"OK","result":"1"}') {
    const sent: { call: EtherscanCall; options: CallOptions | undefined }[] = [];
    const api = etherscanProtocol.face((call, options) => {
      sent.push({ call, options });
      const result: CallResult = {
        status: 200,
        headers: new Headers(),
        body: new TextEncoder().encode(body),
        verdict: { class: "ok", scope: "request", reason: "data" },
        attempts: [],
      };
      return Promise.resolve(result);
    });
    return { api, sent };
  }

  it("calls mainnet unless told otherwise, and gives the parsed answer", async () => {
    const { api, sent } = face();
    const options = { priority: "batch" } as const;
    const params = { address: "0x1", page: 2, flag: true, gone: undefined, apikey: "mine" };
    expect(await api.call("account", "balance", params, options)).toEqual({ status: "1", message: "OK", result: "1" });
    await api.call("account", "balance", { chainid: 10 });
    expect(sent.map(({ call }) => [call.method, call.query])).toEqual([
      ["GET", "chainid=1&module=account&action=balance&address=0x1&page=2&flag=true"],
      ["GET", "chainid=10&module=account&action=balance"],
    ]);
    expect(sent[0]?.options).toBe(options);
  });

  it("sends long parameters as a form", async () => {
    const { api, sent } = face();
    const address = Array.from({ length: 200 }, (_, index) => `0x${String(index).padStart(40, "0")}`).join(",");
    await api.call("account", "balancemulti", { address });
    const call = sent[0]?.call;
    if (call === undefined) throw new Error("nothing was sent");
    expect([call.method, call.query]).toEqual(["POST", "chainid=1&module=account&action=balancemulti"]);
    const request = etherscanProtocol.attach(call, target());
    expect([...new URLSearchParams(await request.text())]).toEqual([
      ["address", address],
      ["apikey", KEY],
    ]);
  });

  it("says so when the answer is no JSON", async () => {
    const { api } = face("<html>");
    await expect(api.call("account", "balance")).rejects.toMatchObject({ code: "upstream_failed" });
  });
});
