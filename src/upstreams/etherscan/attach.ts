import type { Target } from "../../engine/target.ts";
import { joinQueries, parameterIn } from "../../lib/query-text.ts";
import type { EtherscanCall } from "./call.ts";

const MAINNET = "1";

/**
 * The request to send: the call's own parameters, then the credential, and no header of the client but what the body
 * and the answer's form need.
 *
 * A v2 base serves all chains and reads `chainid` from the URL alone, so it is written there when a v1 client named
 * none (mainnet) or a form holds it. A clone serves the one chain of its address and ignores the parameter: nothing is
 * added for it, and a `chainid` that the client wrote stays, for what the client sent is not ours to rewrite.
 */
export function attachEtherscan(call: EtherscanCall, target: Target): Request {
  const url = new URL(target.baseUrl);
  const form = call.body?.kind === "form" ? call.body : null;
  const credential = target.credential === undefined ? "" : `apikey=${encodeURIComponent(target.credential)}`;
  const chain = isV2(url) ? missingChain(call, form?.text ?? "") : "";
  const query = joinQueries(url.search.slice(1), chain, call.query, form === null ? credential : "");
  url.search = query;

  const headers = new Headers();
  if (call.accept !== null) headers.set("accept", call.accept);
  if (call.body !== null && call.body.contentType !== null) headers.set("content-type", call.body.contentType);
  const init: RequestInit = { method: call.method, headers, redirect: "manual" };
  if (call.body?.kind === "form") init.body = new TextEncoder().encode(joinQueries(call.body.text, credential));
  if (call.body?.kind === "other") init.body = call.body.bytes;
  return new Request(url, init);
}

function isV2(url: URL): boolean {
  return /\/v2\/api\/?$/.test(url.pathname);
}

function missingChain(call: EtherscanCall, form: string): string {
  if (parameterIn(call.query, "chainid") !== null) return "";
  const chain = parameterIn(form, "chainid") ?? (call.version === 1 ? MAINNET : null);
  return chain === null ? "" : `chainid=${encodeURIComponent(chain)}`;
}
