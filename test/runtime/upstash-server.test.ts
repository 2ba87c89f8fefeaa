import { Redis as UpstashRedis } from "@upstash/redis";
import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type RedisServer, startRedis } from "../fixtures/redis-server.ts";
import { startUpstash, UPSTASH_FAULTS, type UpstashServer } from "../fixtures/upstash-server.ts";

const [TOKEN, READ_ONLY] = ["token-of-the-test", "read-only-token-of-the-test"];

let redis: RedisServer;
let upstash: UpstashServer;
beforeAll(async () => {
  redis = await startRedis();
  upstash = await startUpstash({ redis: redis.port, token: TOKEN, readOnlyToken: READ_ONLY });
});
afterAll(async () => {
  await upstash.close();
  await redis.stop();
});
beforeEach(() => upstash.fault(null));

/** The official client, which neither repeats nor gathers commands by itself. */
const client = (options: { readonly token?: string; readonly signal?: () => AbortSignal } = {}): UpstashRedis =>
  new UpstashRedis({
    url: upstash.url,
    token: TOKEN,
    retry: { retries: 0 },
    enableAutoPipelining: false,
    enableTelemetry: false,
    ...options,
  });
const sha1 = (text: string): string => createHash("sha1").update(text).digest("hex");

describe("the server speaks Upstash's protocol to its official client", () => {
  test("get and set, unicode, OK as a value, and what is absent", async () => {
    const kv = client();
    expect(await kv.set("greeting", "grüße 🌊")).toBe("OK");
    expect(await kv.get("greeting")).toBe("grüße 🌊");
    await kv.set("ok", "OK");
    expect(await kv.get("ok")).toBe("OK");
    expect(await kv.get("nothing")).toBeNull();
    expect(await kv.mget("ok", "greeting", "nothing")).toEqual(["OK", "grüße 🌊", null]);
    expect(await kv.incr("count")).toBe(1);
  });

  test("a hash keeps its shape", async () => {
    const kv = client();
    await kv.hset("hash", { a: "OK", b: "2" });
    expect(await kv.hgetall("hash")).toEqual({ a: "OK", b: 2 });
    expect(await kv.hgetall("no-hash")).toBeNull();
  });

  test("without the header for base64 strings are plain", async () => {
    const plain = new UpstashRedis({ url: upstash.url, token: TOKEN, responseEncoding: false });
    await plain.set("plain", "ü");
    expect(await plain.get("plain")).toBe("ü");
    const response = await fetch(upstash.url, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}` },
      body: JSON.stringify(["MGET", "plain", "none"]),
    });
    expect(await response.json()).toEqual({ result: ["ü", null] });
  });

  test("a pipeline in order, with an error in its place", async () => {
    const kv = client();
    const before = [upstash.commands(), upstash.requests()] as const;
    const replies = await kv
      .pipeline()
      .set("p", "1")
      .incr("p")
      .lpush("p", "x")
      .get("p")
      .exec<[string, number, number, number]>({ keepErrors: true });
    expect(replies.map(({ result }) => result)).toEqual(["OK", 2, undefined, 2]);
    expect(replies[2].error).toMatch(/^WRONGTYPE/);
    expect([upstash.commands() - before[0], upstash.requests() - before[1]]).toEqual([4, 1]);
  });

  test("a transaction is one", async () => {
    const kv = client();
    const increments = Array.from({ length: 20 }, () => kv.multi().incr("m").incr("m").exec<[number, number]>());
    for (const [first, second] of await Promise.all(increments)) expect(second).toBe(first + 1);
    expect(await kv.get("m")).toBe(40);
  });

  test("an error of Redis is an error of the client", async () => {
    const kv = client();
    await kv.set("text", "x");
    await expect(kv.lpush("text", "y")).rejects.toThrow(/WRONGTYPE/);
    await expect(kv.multi().lpush("text", "y").exec()).rejects.toThrow(/WRONGTYPE/);
  });

  test("nonsense is answered with 400", async () => {
    for (const [path, body] of [
      ["", "{"],
      ["", "[]"],
      ["", '{"a":1}'],
      ["pipeline", "[1]"],
    ] as const) {
      const headers = { authorization: `Bearer ${TOKEN}` };
      const response = await fetch(`${upstash.url}/${path}`, { method: "POST", headers, body });
      expect(response.status).toBe(400);
      expect(await response.json()).toEqual({ error: expect.stringMatching(/^ERR failed to parse/) as unknown });
    }
  });
});

describe("scripts", () => {
  test("are evaluated", async () => {
    const script = "return {KEYS[1], ARGV[1], 7, 'OK'}";
    expect(await client().eval(script, ["k"], ["v"])).toEqual(["k", "v", 7, "OK"]);
  });

  test("are unknown by their hash until they are loaded", async () => {
    const script = `return 'unknown ' .. KEYS[1] -- ${Math.random()}`;
    const kv = client();
    await expect(kv.evalsha(sha1(script), ["k"], [])).rejects.toThrow(/NOSCRIPT/);
    expect(await kv.scriptLoad(script)).toBe(sha1(script));
    expect(await kv.evalsha(sha1(script), ["k"], [])).toBe("unknown k");
    expect(await kv.scriptExists(sha1(script), sha1("other"))).toEqual([1, 0]);
  });

  test("may begin with the flag that only Upstash knows, and keep the hash of what was sent", async () => {
    const script = "#!lua flags=allow-key-locking\nreturn redis.call('INCRBY', KEYS[1], ARGV[1])";
    const kv = client();
    await expect(kv.evalsha(sha1(script), ["flagged"], ["2"])).rejects.toThrow(/NOSCRIPT/);
    expect(await kv.eval(script, ["flagged"], ["2"])).toBe(2);
    expect(await kv.evalsha(sha1(script), ["flagged"], ["2"])).toBe(4);
    expect(await kv.scriptLoad(script)).toBe(sha1(script));
    expect(await kv.scriptExists(sha1(script))).toEqual([1]);
  });
});

describe("tokens", () => {
  test.each([["wrong"], [""]])("%j is refused", async (token) => {
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(upstash.url, { method: "POST", headers, body: '["PING"]' });
    expect(response.status).toBe(401);
    expect(await response.json()).toEqual({
      error: expect.stringMatching(/^WRONGPASS invalid or missing auth token/) as unknown,
    });
    if (token !== "") await expect(client({ token }).get("a")).rejects.toThrow(/WRONGPASS/);
  });

  test("the read-only one reads and does not write", async () => {
    await client().set("readable", "yes");
    const reader = client({ token: READ_ONLY });
    expect(await reader.get("readable")).toBe("yes");
    expect(await reader.ping()).toBe("PONG");
    await expect(reader.set("readable", "no")).rejects.toThrow(/NOPERM .* run the 'set' command/);
    await expect(reader.eval("return 1", [], [])).rejects.toThrow(/NOPERM .* run the 'eval' command/);
    await expect(reader.evalsha(sha1("return 1"), [], [])).rejects.toThrow(/NOPERM .* run the 'evalsha' command/);
    await expect(reader.keys("*")).rejects.toThrow(/NOPERM/);
    await expect(reader.multi().get("readable").set("readable", "no").exec()).rejects.toThrow(/NOPERM/);
    const replies = await reader
      .pipeline()
      .get("readable")
      .set("readable", "no")
      .exec<[string, string]>({ keepErrors: true });
    expect(replies.map((reply) => reply.error === undefined)).toEqual([true, false]);
    expect(await reader.get("readable")).toBe("yes");
  });
});

describe("faults", () => {
  test("an answer of another's making, for as many requests as asked", async () => {
    const kv = client();
    await kv.set("kept", "1");
    upstash.fault({ ...UPSTASH_FAULTS.page, times: 2 });
    await expect(kv.get("kept")).rejects.toThrow(/<html>/);
    await expect(kv.get("kept")).rejects.toThrow(/<html>/);
    expect(await kv.get("kept")).toBe(1);
    upstash.fault(UPSTASH_FAULTS.garbage);
    await expect(kv.get("kept")).rejects.toThrow(/garbage/);
    upstash.fault(UPSTASH_FAULTS.overLimit);
    await expect(kv.get("kept")).rejects.toThrow(/max requests limit exceeded/);
    upstash.fault(null);
    expect(await kv.get("kept")).toBe(1);
  });

  test("a delay", async () => {
    upstash.fault({ type: "delay", ms: 60, times: 1 });
    const from = performance.now();
    expect(await client().set("late", "1")).toBe("OK");
    expect(performance.now() - from).toBeGreaterThan(55);
  });

  test("a request that hangs until its client leaves has not run", async () => {
    upstash.fault({ type: "hang", times: 1 });
    const impatient = client({ signal: () => AbortSignal.timeout(50) });
    await expect(impatient.incr("hung")).rejects.toThrow(/timeout/);
    expect(await client().get("hung")).toBeNull();
  });

  test("a connection that breaks, before the command runs or after it", async () => {
    upstash.fault({ type: "destroy", times: 1 });
    await expect(client().incr("broken")).rejects.toThrow(/fetch failed/);
    expect(await client().get("broken")).toBeNull();
    upstash.fault({ type: "destroy", times: 1, after: true });
    await expect(client().incr("broken")).rejects.toThrow(/fetch failed/);
    expect(await client().get("broken")).toBe(1);
  });

  test("a Redis that dies is an error at once, and is found again", async () => {
    const kv = client();
    await redis.kill();
    await expect(kv.set("a", "1")).rejects.toThrow(/ERR/);
    await redis.restart();
    await expect.poll(() => kv.set("a", "1").catch(() => "not yet")).toBe("OK");
  });
});
