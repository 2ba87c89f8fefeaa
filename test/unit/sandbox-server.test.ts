import { spawn } from "node:child_process";
import { once } from "node:events";
import { Agent, get } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createFakeClock } from "../fixtures/fake-clock.ts";
import {
  type Fault,
  type SandboxCounts,
  type SandboxServer,
  createSandbox,
  sandboxKeys,
  startSandbox,
} from "../fixtures/sandbox-etherscan.ts";

/**
 * Keys that nobody registers as secrets: a client that speaks to the provider itself has its key in the address of
 * each answer, and a sandbox process prints its keys.
 */
const SEED = 4242;
const [KEY = "", OTHER = ""] = sandboxKeys(2, SEED);
const ADDRESS = `0x${"ab".repeat(20)}`;
const SOURCE = `/v2/api?chainid=1&module=contract&action=getsourcecode&address=${ADDRESS}`;

let server: SandboxServer;
beforeAll(async () => {
  const keys = [{ key: KEY, perSecond: 1_000_000 }, { key: OTHER }];
  server = await startSandbox({ keys, latency: () => 0, slowMs: 400, counting: "sliding" });
});
afterAll(() => server.close());

const ask = (init?: RequestInit): Promise<Response> => fetch(`${server.url}${SOURCE}&apikey=${KEY}`, init);

describe("a client of the real server", () => {
  const withFault = async (fault: Fault, check: () => Promise<void>): Promise<void> => {
    server.sandbox.setKey(KEY, { fault: () => fault });
    try {
      await check();
    } finally {
      server.sandbox.setKey(KEY, { fault: undefined });
    }
  };

  test("gets the same bytes as one in process", async () => {
    const clock = createFakeClock();
    const inProcess = createSandbox({ clock, keys: [{ key: KEY }], latency: () => 0 });
    const expected = await inProcess.fetch(new Request(`https://sandbox.test${SOURCE}&apikey=${KEY}`));
    const actual = await ask();
    expect(new Uint8Array(await actual.arrayBuffer())).toEqual(new Uint8Array(await expected.arrayBuffer()));
    expect(actual.headers.get("content-type")).toBe(expected.headers.get("content-type"));
  });

  test("sends forms, and its key and headers are logged without the key", async () => {
    const body = new URLSearchParams({ module: "proxy", action: "eth_blockNumber", apikey: KEY });
    const answer = await fetch(`${server.url}/v2/api?chainid=1`, { method: "POST", body, headers: { "x-mark": "1" } });
    expect(await answer.text()).toMatch(/^\{"jsonrpc":"2.0","id":1,"result":"0x[0-9a-f]+"\}$/);
    expect(server.sandbox.requests.at(-1)).toMatchObject({
      method: "POST",
      path: "/v2/api",
      params: { chainid: "1", module: "proxy", action: "eth_blockNumber" },
      headers: { "x-mark": "1" },
      keyIndex: 0,
      outcome: "ok",
    });
  });

  test("is refused when it calls too fast", async () => {
    const calls = Array.from({ length: 5 }, () => fetch(`${server.url}${SOURCE}&apikey=${OTHER}`));
    const bodies = await Promise.all(calls.map(async (call) => (await call).text()));
    expect(bodies.filter((body) => body.includes("Max calls per sec rate limit reached (3/sec)"))).toHaveLength(2);
    expect(server.sandbox.counts().accounts["account-2"]).toMatchObject({ maxSliding: 5 });
  });

  test("5xx, html, empty: an answer that is none", async () => {
    await withFault("5xx", async () => expect((await ask()).status).toBe(502));
    await withFault("html", async () => {
      const page = await ask();
      expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=UTF-8"]);
      expect(await page.text()).toMatch(/^<!DOCTYPE html>/);
    });
    await withFault("empty", async () => {
      const empty = await ask();
      expect([empty.status, await empty.text()]).toEqual([200, ""]);
    });
  });

  test("reset: the connection breaks before the answer", async () => {
    const before = server.sandbox.counts().total;
    await withFault("reset", () =>
      expect(ask()).rejects.toMatchObject({ message: "fetch failed", cause: { code: "ECONNRESET" } }),
    );
    const after = server.sandbox.counts().total;
    expect([after.received - before.received, after.failed - before.failed]).toEqual([1, 1]);
  });

  test("timeout: no answer until the client gives up", async () => {
    await withFault("timeout", () =>
      expect(ask({ signal: AbortSignal.timeout(80) })).rejects.toMatchObject({ name: "TimeoutError" }),
    );
  });

  test("truncated: by content-length and as an endless chunked body, turn about", async () => {
    const lengths: (string | null)[] = [];
    await withFault("truncated", async () => {
      for (let i = 0; i < 2; i++) {
        const answer = await ask();
        lengths.push(answer.headers.get("content-length"));
        await expect(answer.text()).rejects.toMatchObject({ message: "terminated" });
      }
    });
    expect(lengths.filter((length) => length === null)).toHaveLength(1);
  });

  test("slow: the head comes late; slow_body: the head at once, the body in pieces", async () => {
    await withFault("slow", async () => {
      const from = performance.now();
      const answer = await ask();
      expect(performance.now() - from).toBeGreaterThanOrEqual(400);
      expect(answer.status).toBe(200);
      await answer.text();
    });
    const whole = await (await ask()).text();
    await withFault("slow_body", async () => {
      const from = performance.now();
      const answer = await ask();
      const headAfter = performance.now() - from;
      const pieces: Uint8Array[] = [];
      for await (const piece of answer.body ?? []) pieces.push(piece);
      const bodyAfter = performance.now() - from;
      expect(bodyAfter).toBeGreaterThanOrEqual(400);
      expect(bodyAfter - headAfter).toBeGreaterThan(100);
      expect(pieces.length).toBeGreaterThan(2);
      expect(Buffer.concat(pieces).toString("utf8")).toBe(whole);
    });
  });

  test("keeps its connection", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const reused: boolean[] = [];
    for (let i = 0; i < 3; i++) {
      const request = get(`${server.url}${SOURCE}&apikey=${KEY}`, { agent });
      const [response] = (await once(request, "response")) as [NodeJS.ReadableStream];
      await text(response);
      reused.push(request.reusedSocket);
    }
    agent.destroy();
    expect(reused).toEqual([false, true, true]);
  });

  test("that hangs up in mid-body or sends nonsense does the server no harm", async () => {
    const socket = connect(server.port, "127.0.0.1");
    await once(socket, "connect");
    socket.write("POST /v2/api HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nmodule=");
    await new Promise<void>((resolve) => socket.end(() => resolve()));
    socket.destroy();
    const odd = connect(server.port, "127.0.0.1");
    odd.end("GET //[ HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    expect(await text(odd)).toMatch(/^HTTP\/1\.1 404 /);
    const huge = await fetch(`${server.url}/v2/api`, { method: "POST", body: "x".repeat(1_200_000) });
    expect(huge.status).toBe(413);
    expect((await ask()).status).toBe(200);
  });
});

test("close cuts what is under way and frees the port", async () => {
  const keys = [{ key: KEY, fault: (): Fault => "timeout" }];
  const short = await startSandbox({ keys, latency: () => 0 });
  const call = fetch(`${short.url}${SOURCE}&apikey=${KEY}`);
  const outcome = expect(call).rejects.toThrow("fetch failed");
  while (short.sandbox.counts().total.received === 0) await new Promise(setImmediate);
  await short.close();
  await outcome;
  const again = await startSandbox({ keys, port: short.port });
  expect(again.port).toBe(short.port);
  await expect(startSandbox({ keys, port: short.port })).rejects.toMatchObject({ code: "EADDRINUSE" });
  await again.close();
});

describe("as a process of its own", () => {
  const start = (...args: string[]) => {
    const script = join(import.meta.dirname, "../fixtures/sandbox-main.ts");
    return spawn(process.execPath, ["--disable-warning=ExperimentalWarning", script, ...args]);
  };
  const firstLine = async (child: ReturnType<typeof start>): Promise<{ url: string; keys: string[] }> => {
    const [line] = (await once(createInterface(child.stdout), "line")) as [string];
    return JSON.parse(line) as { url: string; keys: string[] };
  };

  test("serves, tells counts, changes keys, and stops when told to", async () => {
    const child = start("--keys", "2", "--seed", String(SEED), "--latency", "0", "--hide-keys");
    try {
      const { url, keys } = await firstLine(child);
      expect(keys).toEqual([]);
      const call = async (key: string): Promise<string> => (await fetch(`${url}${SOURCE}&apikey=${key}`)).text();
      const control = async (path: string, patch: unknown): Promise<[number, string]> => {
        const answer = await fetch(`${url}/sandbox/${path}`, { method: "POST", body: JSON.stringify(patch) });
        return [answer.status, await answer.text()];
      };
      const counts = async () => (await (await fetch(`${url}/sandbox/counts`)).json()) as SandboxCounts;

      expect(await call(KEY)).toContain("SourceCode");
      expect(await counts()).toMatchObject({
        keys: [{ received: 1, ok: 1 }, { received: 0 }],
        accounts: { "account-1": { maxSliding: 1, maxFixed: 1, today: 1 } },
      });
      expect(await control("keys/2", { invalid: true })).toEqual([200, "{}\n"]);
      expect(await call(OTHER)).toContain('"Invalid API Key"');
      await control("keys/2", { invalid: false, fault: "html" });
      expect(await call(OTHER)).toContain("<html");
      await control("keys/2", { fault: null, perDay: 0 });
      expect(await call(OTHER)).toContain("Max daily rate limit reached.");
      await control("keys/2", { perDay: 1000, sickness: 1, perSecond: 50 });
      expect(await call(OTHER)).toContain("(50/sec)");
      expect(await control("reset", {})).toEqual([200, "{}\n"]);
      expect((await counts()).total.received).toBe(0);

      expect((await control("keys/3", {}))[0]).toBe(404);
      expect((await control("keys/0", {}))[0]).toBe(404);
      for (const patch of [null, 1, { sickness: 2 }, { fault: "nonsense" }, { key: "x" }, { perSecond: "3" }]) {
        expect((await control("keys/1", patch))[0]).toBe(400);
      }
      const closed = once(child, "exit");
      child.kill("SIGTERM");
      expect(await closed).toEqual([0, null]);
    } finally {
      child.kill("SIGKILL");
    }
  });

  test("prints its keys, from its seed", async () => {
    const child = start("--flip", "1000", "--seed", String(SEED));
    try {
      expect((await firstLine(child)).keys).toEqual(sandboxKeys(9, SEED));
    } finally {
      child.kill("SIGKILL");
    }
  });

  test.each([["--port", "http"], ["--keys", "-1"], ["--keys="], ["--nonsense"]])("refuses %s %s", async (...args) => {
    const child = start(...args);
    const [words, [code]] = await Promise.all([text(child.stderr), once(child, "exit") as Promise<[number]>]);
    expect(code).toBe(2);
    expect(words).toContain("usage: node test/fixtures/sandbox-main.ts");
  });
});
