import { describe, expect, onTestFinished, test } from "vitest";
import { rawRequest, sendRaw } from "../fixtures/raw-http.ts";
import { startPool } from "../fixtures/sandbox-pool.ts";
import {
  balancePath,
  bearer,
  CALLER_TOKEN,
  type GatewayClient,
  GUARDED,
  OPERATOR_TOKEN,
  type OpenGateway,
  problemOf,
  refusalOf,
} from "./gateway-client.ts";

const WRONG = "contract-caller-0a1b2c3d4e5e";
const FORM = { "content-type": "application/x-www-form-urlencoded" };

/** Asks as somebody who shows only what is given. */
function visit({ url }: GatewayClient, path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(url + path, { redirect: "manual", ...init });
}

async function openGuarded(open: OpenGateway): Promise<GatewayClient> {
  const pool = await startPool(2);
  onTestFinished(() => pool.close());
  return open({ ...pool.env, ...GUARDED });
}

/** Who is let in. */
export function describeAccess(
  open: OpenGateway,
  { seesPeers, seesTargetHost }: { readonly seesPeers: boolean; readonly seesTargetHost: boolean },
): void {
  describe("with tokens", () => {
    test("nobody calls without one, this machine's programs included", async () => {
      const gateway = await openGuarded(open);
      const none = await visit(gateway, balancePath());
      expect(none.status).toBe(401);
      expect(none.headers.get("www-authenticate")).toBe('Bearer realm="sluice"');
      expect(await refusalOf(none)).toMatch(/^A caller token is needed: send it as/);
      const wrongs: RequestInit[] = [
        { headers: bearer(WRONG) },
        { headers: { "x-api-key": WRONG } },
        { headers: { authorization: `Basic ${CALLER_TOKEN}` } },
        { headers: { cookie: `token=${CALLER_TOKEN}` } },
      ];
      for (const init of wrongs) {
        const answer = await visit(gateway, balancePath(), init);
        expect(answer.status).toBe(401);
        await refusalOf(answer);
      }
      const inQuery = await sendRaw(gateway.url, rawRequest(balancePath(`&apikey=${WRONG}`)));
      expect(inQuery).toMatch(/^HTTP\/1\.1 401 [^]*"This caller token is not known here\."/);
    });

    test("the right one opens: as a bearer, as x-api-key, and where Etherscan's clients put their key", async () => {
      const gateway = await openGuarded(open);
      const path = balancePath();
      const form = path.split("?")[1] ?? "";
      const answers = [
        await visit(gateway, balancePath(), { headers: bearer(CALLER_TOKEN) }),
        await visit(gateway, balancePath(), { headers: { "x-api-key": CALLER_TOKEN } }),
        await visit(gateway, "/etherscan/v2/api", {
          method: "POST",
          headers: FORM,
          body: `${form}&apikey=${CALLER_TOKEN}`,
        }),
        await visit(gateway, balancePath(), { headers: bearer(OPERATOR_TOKEN) }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      await Promise.all(answers.map((answer) => answer.text()));
      const inQuery = await sendRaw(gateway.url, rawRequest(balancePath(`&apikey=${CALLER_TOKEN}`)));
      expect(inQuery).toMatch(/^HTTP\/1\.1 200 /);
    });

    test("the operator's routes and critical calls are the operator's", async () => {
      const gateway = await openGuarded(open);
      const id = (await gateway.stats()).targets[0]?.id;
      const guarded = [["/-/stats"], ["/-/events"], [`/-/admin/targets/etherscan/${id}/disable`, "POST"]] as const;
      for (const [path, method = "GET"] of guarded) {
        for (const headers of [{}, bearer(CALLER_TOKEN), { "x-api-key": OPERATOR_TOKEN }]) {
          const answer = await visit(gateway, path, { method, headers });
          expect([path, answer.status]).toEqual([path, 401]);
          expect((await problemOf(answer)).code).toBe("admin_only");
        }
      }
      expect((await visit(gateway, "/-/stats", { headers: bearer(OPERATOR_TOKEN) })).status).toBe(200);
      expect((await visit(gateway, "/-/health")).status).toBe(200);
      const critical = { "x-sluice-priority": "critical" };
      const denied = await visit(gateway, balancePath(), { headers: { ...critical, ...bearer(CALLER_TOKEN) } });
      expect(denied.status).toBe(403);
      expect(await refusalOf(denied)).toMatch(/^Critical calls are the operator's/);
      const allowed = await visit(gateway, balancePath(), { headers: { ...critical, ...bearer(OPERATOR_TOKEN) } });
      expect(allowed.status).toBe(200);
    });

    test("whoever shows one may come from anywhere", async () => {
      const { url } = await openGuarded(open);
      const headers = { Host: "gateway.example", Origin: "https://app.example", ...bearer(CALLER_TOKEN) };
      expect(await sendRaw(url, rawRequest(balancePath(), headers))).toMatch(/^HTTP\/1\.1 200 /);
    });
  });

  describe.runIf(seesPeers)("without tokens", () => {
    test("web pages and other host names are refused, on this machine too", async () => {
      const pool = await startPool(2);
      onTestFinished(() => pool.close());
      const { url } = await open(pool.env);
      const strange: Readonly<Record<string, string>>[] = [
        { Host: "gateway.example" },
        { Host: "127.0.0.1.evil.example:8787" },
        { Origin: "https://evil.example" },
        { Origin: "null" },
        { "Sec-Fetch-Site": "cross-site" },
      ];
      for (const headers of strange) {
        for (const path of [balancePath(), "/-/stats", "/-/events"]) {
          const answer = await sendRaw(url, rawRequest(path, headers));
          expect(`${JSON.stringify(headers)} ${path}: ${answer}`).toMatch(/: HTTP\/1\.1 403 [^]*web page/);
        }
      }
      // No page can make a browser send such a target to a server with another Host.
      const elsewhere = rawRequest("http://evil.example/-/stats", seesTargetHost ? {} : { Host: "evil.example" });
      expect(await sendRaw(url, elsewhere)).toMatch(/^HTTP\/1\.1 403 /);
      expect(pool.sandbox.counts().total.received).toBe(0);
    });

    test("a proxy on this machine does not make everybody local", async () => {
      const { url } = await open();
      for (const header of ["X-Forwarded-For", "Forwarded", "X-Real-IP"]) {
        const call = await sendRaw(url, rawRequest(balancePath(), { [header]: "127.0.0.1" }));
        expect(call).toMatch(/^HTTP\/1\.1 503 [^]*Set SLUICE_TOKENS/);
        const stats = await sendRaw(url, rawRequest("/-/stats", { [header]: "127.0.0.1" }));
        expect(stats).toMatch(/^HTTP\/1\.1 401 [^]*SLUICE_ADMIN_TOKEN/);
      }
    });

    test("this machine's programs are served, by every name of it", async () => {
      const pool = await startPool(2);
      onTestFinished(() => pool.close());
      const { url } = await open(pool.env);
      for (const headers of [{ Host: "localhost:8787" }, { Host: "[::1]" }, { Origin: "http://localhost:3000" }]) {
        expect(await sendRaw(url, rawRequest(balancePath(), headers))).toMatch(/^HTTP\/1\.1 200 /);
      }
    });
  });
}
