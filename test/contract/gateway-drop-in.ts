import { describe, expect, onTestFinished, test } from "vitest";
import { rawRequest, sendRaw } from "../fixtures/raw-http.ts";
import { type SandboxPool, startPool } from "../fixtures/sandbox-pool.ts";
import { registerSecrets } from "../fixtures/secret-sink.ts";
import { startStub, type StubUpstream } from "../fixtures/stub-upstream.ts";
import { balancePath, type GatewayClient, type OpenGateway, problemOf, refusalOf } from "./gateway-client.ts";

const FORM = { "content-type": "application/x-www-form-urlencoded" };
/** The sandbox's oddest answer: white space, escapes and characters that no parse and print again leaves as they are. */
const SOURCE = `module=contract&action=getsourcecode&address=0x${"1".repeat(40)}`;
const OWN_KEY = "STUBKEY0123456789ABCDEFGHIJKLMNOPQ";
const CLIENT_KEY = "CLIENTSOWNKEY0123456789ABCDEFGHIJK";
registerSecrets(OWN_KEY, CLIENT_KEY);

async function openWithPool(open: OpenGateway): Promise<{ gateway: GatewayClient; pool: SandboxPool }> {
  const pool = await startPool(3);
  onTestFinished(() => pool.close());
  return { gateway: await open(pool.env), pool };
}

async function openWithStub(
  open: OpenGateway,
  answer: Parameters<typeof startStub>[0],
): Promise<{ gateway: GatewayClient; stub: StubUpstream }> {
  const stub = await startStub(answer);
  onTestFinished(() => stub.close());
  return { stub, gateway: await open({ ETHERSCAN_KEYS: OWN_KEY, ETHERSCAN_BASE_URLS: `${stub.url}/v2/api` }) };
}

/** Another base URL and no key: all that a client has to change. */
export function describeDropIn(open: OpenGateway): void {
  describe("drop-in", () => {
    test("answers in the upstream's bytes, by GET, by POST and on the v1 path", async () => {
      const { gateway, pool } = await openWithPool(open);
      const body = `${SOURCE}&apikey=${pool.secrets[0]}`;
      const direct = await fetch(`${pool.url}/v2/api?chainid=1`, { method: "POST", headers: FORM, body });
      const expected = await direct.text();
      expect(expected).toContain("\u{1F680}");
      const asked = [
        gateway.ask(`/etherscan/v2/api?chainid=1&${SOURCE}`),
        gateway.ask(`/etherscan/v2/api?chainid=1`, { method: "POST", headers: FORM, body: SOURCE }),
        gateway.ask(`/etherscan/v2/api`, { method: "POST", headers: FORM, body: `chainid=1&${SOURCE}` }),
        gateway.ask(`/etherscan/api?${SOURCE}`),
        gateway.ask(`/etherscan/api`, { method: "POST", headers: FORM, body: SOURCE }),
      ];
      for (const answer of await Promise.all(asked)) {
        expect(answer.status).toBe(200);
        expect(answer.headers.get("content-type")).toBe(direct.headers.get("content-type"));
        expect(await answer.text()).toBe(expected);
      }
      const methods = pool.sandbox.requests.map(({ method }) => method).sort();
      expect(methods).toEqual(["GET", "GET", "POST", "POST", "POST", "POST"]);
    });

    test("hands the caller's own mistakes back at once", async () => {
      const { gateway, pool } = await openWithPool(open);
      const answer = await gateway.ask("/etherscan/v2/api?chainid=1&module=account&action=balance&address=0x1");
      expect(answer.status).toBe(200);
      expect(await refusalOf(answer)).toBe("Error! Invalid address format");
      expect(pool.sandbox.counts().total).toMatchObject({ received: 1, ok: 1 });
    });

    test("sends the client's query as it is, without the client's key and with ours", async () => {
      const { gateway, stub } = await openWithStub(open, (_, response) =>
        response.setHeader("content-type", "text/x-odd").end('{"status":"1","message":"OK","result":"1"}'),
      );
      const query = "b=2&a=%20+%C3%A9&module=account&b=1&action=balance&chainid=1";
      const spellings = [`apikey=${CLIENT_KEY}`, `ApiKey=${CLIENT_KEY}`, `%61pikey=${CLIENT_KEY}`];
      for (const spelling of spellings) {
        const headers = { Cookie: `session=${CLIENT_KEY}`, "X-Forwarded-User": "ada", ...gateway.pass };
        const answer = await sendRaw(gateway.url, rawRequest(`/etherscan/v2/api?${spelling}&${query}`, headers));
        expect(answer.toLowerCase()).toContain("content-type: text/x-odd\r\n");
        expect(answer).toContain('{"status":"1","message":"OK","result":"1"}');
      }
      await gateway.ask("/etherscan/v2/api", {
        method: "POST",
        headers: FORM,
        body: `apikey=${CLIENT_KEY}&${query}`,
      });
      expect(
        stub.requests.map(({ target, body }) => target.replace(OWN_KEY, "KEY") + body.replace(OWN_KEY, "KEY")),
      ).toEqual([...spellings.map(() => `/v2/api?${query}&apikey=KEY`), `/v2/api?chainid=1${query}&apikey=KEY`]);
      const sent = JSON.stringify(stub.requests);
      expect(sent.includes(CLIENT_KEY)).toBe(false);
      expect(sent.includes("ada")).toBe(false);
      for (const { headers } of stub.requests) expect(JSON.stringify(headers).includes(OWN_KEY)).toBe(false);
    });

    test("never follows a redirect, nor shows where it leads", async () => {
      const trap = await startStub((_, response) => response.end('{"status":"1","message":"OK","result":"trapped"}'));
      onTestFinished(() => trap.close());
      const { gateway, stub } = await openWithStub(open, ({ target }, response) =>
        response.writeHead(302, { location: `${trap.url}${target}` }).end(),
      );
      const answer = await gateway.ask(balancePath());
      expect(answer.status).toBe(503);
      expect(answer.headers.get("location")).toBeNull();
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(await refusalOf(answer)).toMatch(/No target took the call in 1 try/);
      expect(stub.requests).toHaveLength(1);
      expect(trap.requests).toEqual([]);
    });

    test("refuses other methods in the envelope, with Allow", async () => {
      const { gateway, pool } = await openWithPool(open);
      for (const method of ["HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"]) {
        const answer = await gateway.ask(balancePath(), { method });
        expect([method, answer.status, answer.headers.get("allow")]).toEqual([method, 405, "GET, POST"]);
        if (method === "HEAD") expect(await answer.text()).toBe("");
        else expect(await refusalOf(answer)).toBe("This route takes GET, POST.");
      }
      expect(pool.sandbox.counts().total.received).toBe(0);
    });

    test("says which routes there are, in the form of the place where it was asked", async () => {
      const { gateway } = await openWithPool(open);
      const nowhere = await gateway.ask("/api?module=account&action=balance");
      expect(nowhere.status).toBe(404);
      const { code, detail, routes, requestId } = await problemOf(nowhere);
      expect({ code, detail }).toEqual({ code: "route_unknown", detail: "There is no such route here." });
      expect(routes).toEqual(expect.arrayContaining(["GET|POST /etherscan/v2/api", "GET /-/health"]));
      expect(requestId).toBe(nowhere.headers.get("x-request-id"));

      for (const path of ["/etherscan", "/etherscan/", "/etherscan/v3/api", "/etherscan/v2/api/x"]) {
        const lost = await gateway.ask(path);
        expect([path, lost.status]).toEqual([path, 404]);
        expect(await refusalOf(lost)).toContain("GET|POST /etherscan/v2/api");
      }
    });

    test("says what is missing in a call that cannot be one", async () => {
      const { gateway, pool } = await openWithPool(open);
      const answer = await gateway.ask("/etherscan/v2/api?chainid=1&module=account");
      expect(answer.status).toBe(400);
      expect(await refusalOf(answer)).toMatch(/^action: not given; write \?chainid=1&module=/);
      const empty = await gateway.ask("/etherscan/v2/api");
      expect(await refusalOf(empty)).toContain("module and action");
      expect(pool.sandbox.counts().total.received).toBe(0);
    });

    test("numbers requests and keeps a client's own id", async () => {
      const { gateway } = await openWithPool(open);
      const ids = await Promise.all(
        [1, 2, 3].map(async () => (await gateway.ask("/-/health")).headers.get("x-request-id")),
      );
      expect(new Set(ids).size).toBe(3);
      for (const id of ids) expect(id).toMatch(/^[0-9a-f]{16}$/);
      const own = await gateway.ask(balancePath(), { headers: { "x-request-id": "checkout-42.a_b" } });
      expect(own.headers.get("x-request-id")).toBe("checkout-42.a_b");
      const odd = await gateway.ask(balancePath(), { headers: { "x-request-id": "a b<script>" } });
      expect(odd.headers.get("x-request-id")).toMatch(/^[0-9a-f]{16}$/);
    });

    test("tells how an answer was had, to who asks", async () => {
      const { gateway, pool } = await openWithPool(open);
      pool.change(1, { invalid: true });
      pool.change(2, { invalid: true });
      const { targets } = await gateway.stats();
      const attempts: { readonly target: string; readonly class: string; readonly status: number }[] = [];
      for (let call = 0; call < 3; call++) {
        const answer = await gateway.ask(balancePath(), { headers: { "x-sluice-trace": "1" } });
        expect(answer.status).toBe(200);
        const header = answer.headers.get("x-sluice-trace") ?? "null";
        const trace = JSON.parse(header) as { upstream: string; attempts: typeof attempts };
        expect(trace.upstream).toBe("etherscan");
        attempts.push(...trace.attempts);
      }
      const ends = attempts.map((attempt) => `${attempt.target} ${attempt.class} ${attempt.status}`);
      const [first, second, third] = targets.map(({ id }) => id);
      const well = `${third} ok 200`;
      expect(ends.sort()).toEqual([`${first} key_invalid 200`, `${second} key_invalid 200`, well, well, well].sort());
      expect((await gateway.ask(balancePath())).headers.get("x-sluice-trace")).toBeNull();
    });

    test("takes priorities and no others", async () => {
      const { gateway } = await openWithPool(open);
      for (const priority of ["interactive", "batch", "critical"]) {
        const answer = await gateway.ask(balancePath(), { headers: { "x-sluice-priority": priority } });
        expect([priority, answer.status]).toEqual([priority, 200]);
      }
      const answer = await gateway.ask(balancePath(), { headers: { "x-sluice-priority": "first" } });
      expect(answer.status).toBe(400);
      expect(await refusalOf(answer)).toBe("X-Sluice-Priority is one of critical, interactive, batch.");
    });

    test("is up without keys, and says what to set", async () => {
      const gateway = await open();
      const call = await gateway.ask(balancePath());
      expect(call.status).toBe(503);
      expect(await refusalOf(call)).toContain("set ETHERSCAN_KEYS");
      expect((await gateway.ask("/-/health")).status).toBe(200);
      const ready = await gateway.ask("/-/ready");
      expect(ready.status).toBe(503);
      expect(await problemOf(ready)).toMatchObject({
        code: "upstream_not_configured",
        upstreams: [{ upstream: "etherscan", ready: false, why: "ETHERSCAN_KEYS is not set" }],
      });
    });
  });
}
