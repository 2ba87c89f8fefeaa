import { describe, expect, onTestFinished, test } from "vitest";
import { hangUpAfter, rawRequest, sendRaw } from "../fixtures/raw-http.ts";
import { startPool } from "../fixtures/sandbox-pool.ts";
import { type OpenGateway, refusalOf } from "./gateway-client.ts";

const FORM = { "content-type": "application/x-www-form-urlencoded" };
const CALL = "chainid=1&module=account&action=balance";
const HUGE = "x".repeat(5_000_000);

/** However large or broken a request is: its client can read why it is refused, and the next one is served. */
export function describeBounds(open: OpenGateway, front: "ours" | "platform"): void {
  describe("bounds", () => {
    test("a query of 5 MB", async () => {
      const pool = await startPool(1);
      onTestFinished(() => pool.close());
      const gateway = await open(pool.env);
      const asked = gateway.ask(`/etherscan/v2/api?${CALL}&note=${HUGE}`);
      if (front === "ours") {
        const answer = await asked;
        expect([414, 431]).toContain(answer.status);
        expect(await answer.text()).toMatch(/POST form/);
      } else {
        // A server that hangs up in the middle of it may be too fast for its client to read why. Deno's says 400.
        const status = await asked.then(
          (answer) => answer.status,
          () => 431,
        );
        expect([400, 431]).toContain(status);
      }
      expect((await gateway.ask("/-/health")).status).toBe(200);
      expect(pool.sandbox.counts().total.received).toBe(0);
    });

    test.each([
      ["longer than the upstream takes", 40_000, /send what exceeds 32768 as a POST form/],
      ["longer than the gateway takes", 70_000, /at most 65536 characters/],
    ])("a query %s", async (_what, length, words) => {
      const gateway = await open();
      const answer = await gateway.ask(`/etherscan/v2/api?${CALL}&note=${"x".repeat(length)}`);
      expect(front === "ours" ? [414] : [400, 414, 431]).toContain(answer.status);
      if (answer.status !== 414) return;
      if (front === "ours" || length < 65_536) expect(await refusalOf(answer)).toMatch(words);
    });

    test("a body of 5 MB, announced or not", async () => {
      const pool = await startPool(1);
      onTestFinished(() => pool.close());
      const gateway = await open(pool.env);
      const body = `${CALL}&note=${HUGE}`;
      const pieces = (): ReadableStream => new Blob([body]).stream();
      for (const init of [{ body }, { body: pieces(), duplex: "half" as const }]) {
        const answer = await gateway.ask("/etherscan/v2/api", { method: "POST", headers: FORM, ...init });
        expect(answer.status).toBe(413);
        expect(await refusalOf(answer)).toBe("The request's body may have at most 4194304 bytes.");
      }
      expect(pool.sandbox.counts().total.received).toBe(0);
      const next = await gateway.ask(`/etherscan/v2/api`, {
        method: "POST",
        headers: FORM,
        body: `${CALL}&address=0x${"2".repeat(40)}`,
      });
      expect(next.status).toBe(200);
    });

    test.each([
      ["no HTTP at all", "\u0016\u0003\u0001 this is not HTTP\r\n\r\n"],
      ["a header without a name", "GET /-/health HTTP/1.1\r\nHost: 127.0.0.1\r\n: x\r\n\r\n"],
      [
        "two lengths",
        "POST /etherscan/v2/api HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
      ],
      [
        "a length beside chunks",
        "POST /etherscan/v2/api HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      ],
    ])("bytes that are no request: %s", async (_what, bytes) => {
      const gateway = await open();
      expect(await sendRaw(gateway.url, bytes)).toMatch(front === "ours" ? /^HTTP\/1\.1 400 / : /^HTTP\/1\.1 4/);
      expect((await gateway.ask("/-/health")).status).toBe(200);
    });

    test("targets that no client would write are not found, never a fault of ours", async () => {
      const gateway = await open();
      const targets = [
        // Not every platform's own server survives it.
        ...(front === "ours" ? ["//"] : []),
        "/%",
        "/%E0%A4%A",
        "/etherscan/%00",
        "/\\..\\",
        "/etherscan/../etherscan/v3",
        "/-/admin/targets/%ff/x/y",
      ];
      for (const target of targets) {
        const answer = await sendRaw(gateway.url, rawRequest(target));
        expect(`${target} → ${answer.split("\r\n")[0]}`).toMatch(/ → HTTP\/1\.1 (400|401|404|405)/);
      }
    });

    test("a body that breaks off takes nothing with it", async () => {
      const pool = await startPool(1);
      onTestFinished(() => pool.close());
      const gateway = await open(pool.env);
      const headers = { ...FORM, "Content-Length": "1000" };
      await hangUpAfter(gateway.url, rawRequest("/etherscan/v2/api", headers, "POST", CALL));
      expect((await gateway.ask("/-/health")).status).toBe(200);
      expect((await gateway.stats()).inFlight).toBe(0);
      expect(pool.sandbox.counts().total.received).toBe(0);
    });
  });
}
