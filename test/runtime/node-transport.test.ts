import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { nodeTransport } from "../../adapters/node/transport.ts";
import { type StubUpstream, startStub } from "../fixtures/stub-upstream.ts";

let stub: StubUpstream | undefined;
afterEach(async () => {
  await stub?.close();
  stub = undefined;
});

const TEXT = JSON.stringify({ status: "1", message: "OK", result: "é".repeat(5_000) });

async function start(...args: Parameters<typeof startStub>): Promise<StubUpstream> {
  return (stub = await startStub(...args));
}

describe("Node's transport", () => {
  test.each([
    ["gzip", gzipSync(TEXT)],
    ["deflate", deflateSync(TEXT)],
    ["br", brotliCompressSync(TEXT)],
    ["identity", Buffer.from(TEXT)],
  ])("reads a body in %s, as a whole and as a stream", async (coding, bytes) => {
    const { url } = await start((_request, response) => {
      if (coding !== "identity") response.setHeader("content-encoding", coding);
      response.end(bytes);
    });
    const whole = await (await nodeTransport(new Request(url))).arrayBuffer();
    expect(new TextDecoder().decode(whole)).toBe(TEXT);
    const { body } = await nodeTransport(new Request(url));
    expect(await new Response(body).text()).toBe(TEXT);
  });

  test("sends method, headers and body as they are, and names what it can decode", async () => {
    const { url, requests } = await start((_request, response) => response.end());
    const headers = { "content-type": "text/plain", accept: "text/*" };
    const answer = await nodeTransport(new Request(`${url}/a?b=%20c`, { method: "POST", headers, body: "word" }));
    expect((await answer.arrayBuffer()).byteLength).toBe(0);
    expect(requests).toMatchObject([{ method: "POST", target: "/a?b=%20c", body: "word", headers }]);
    expect(requests[0]?.headers).toMatchObject({ "content-length": "4", "accept-encoding": "gzip, deflate, br" });
  });

  test("keeps status and repeated headers, and follows no redirect", async () => {
    const { url, requests } = await start((_request, response) => {
      response.writeHead(302, [
        ["location", "/elsewhere"],
        ["vary", "a"],
        ["vary", "b"],
      ]);
      response.end();
    });
    const answer = await nodeTransport(new Request(url, { redirect: "manual" }));
    expect([answer.status, answer.headers.get("location"), answer.headers.get("vary")]).toEqual([
      302,
      "/elsewhere",
      "a, b",
    ]);
    expect(requests).toHaveLength(1);
  });

  test("rejects where nobody listens", async () => {
    const { url, close } = await start(() => undefined);
    await close();
    await expect(nodeTransport(new Request(url))).rejects.toThrow("ECONNREFUSED");
  });

  test("hangs up when it is aborted, before the answer and within it", async () => {
    const upstream = await start((request, response) => {
      if (request.target === "/half") response.writeHead(200, { "content-length": "100" }).write("half");
    });
    const one = new AbortController();
    const silent = nodeTransport(new Request(upstream.url, { signal: one.signal }));
    await expect.poll(() => upstream.requests.length).toBe(1);
    one.abort();
    await expect(silent).rejects.toThrow(/abort/i);
    const two = new AbortController();
    const answer = await nodeTransport(new Request(`${upstream.url}/half`, { signal: two.signal }));
    const body = answer.arrayBuffer();
    two.abort();
    await expect(body).rejects.toThrow();
    await expect.poll(() => upstream.abandoned).toBe(2);
    await expect(nodeTransport(new Request(upstream.url, { signal: AbortSignal.abort() }))).rejects.toThrow(/abort/i);
  });

  test.each([
    ["plain", {}],
    ["compressed", { "content-encoding": "gzip" }],
  ])("rejects a %s body that breaks off", async (_how, headers) => {
    const { url } = await start((_request, response) => {
      response.writeHead(200, { ...headers, "content-length": "1000" });
      response.write(gzipSync(TEXT).subarray(0, 20), () => setTimeout(() => response.destroy(), 20));
    });
    const answer = await nodeTransport(new Request(url));
    await expect(answer.arrayBuffer()).rejects.toThrow();
  });

  test("a body that is no gzip although it says so is an error", async () => {
    const { url } = await start((_request, response) =>
      response.writeHead(200, { "content-encoding": "gzip" }).end("plain"),
    );
    const answer = await nodeTransport(new Request(url));
    await expect(answer.arrayBuffer()).rejects.toThrow();
  });

  test("asks again when the connection it took up was being closed", async () => {
    let asked = 0;
    const server: Server = createServer((request, response) => {
      // The second request on a connection is met by its end, as by a server whose keep-alive has just run out.
      if (++asked === 2) request.socket.resetAndDestroy();
      else response.end("well");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const get = async (): Promise<string> => {
      const answer = await nodeTransport(new Request(url));
      return new TextDecoder().decode(await answer.arrayBuffer());
    };
    expect(await get()).toBe("well");
    // The connection goes back to the agent in its own time.
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await get()).toBe("well");
    expect(asked).toBe(3);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
});
