import type { InboundRequest } from "../../engine/protocol.ts";
import { SluiceError } from "../../errors.ts";
import { parameterIn, withoutParameter } from "../../lib/query-text.ts";
import { type EtherscanBody, type EtherscanCall, parametersOf } from "./call.ts";

const CREDENTIAL = "apikey";
const MAY_HOLD_CREDENTIAL = /apikey|%/i;
const GIVEN = [/(?:^|&)module=[^&]/, /(?:^|&)action=[^&]/];
const FORM = /^application\/x-www-form-urlencoded\b/i;
/** Etherscan's front refuses longer URLs (414): say so before a slot is spent. */
const LONGEST_QUERY = 32_768;
const EXAMPLE = "?chainid=1&module=account&action=balance&address=0x…";

/** A client's request as a call. Throws `request_invalid` or `request_too_large`. */
export function parseEtherscan(request: InboundRequest, version: 1 | 2): EtherscanCall {
  const search = request.url.search.slice(1);
  if (search.length > LONGEST_QUERY) {
    throw new SluiceError(
      "request_too_large",
      `The query has ${search.length} characters; send what exceeds ${LONGEST_QUERY} as a POST form.`,
      { status: 414 },
    );
  }
  const call: EtherscanCall = {
    method: request.method === "POST" ? "POST" : "GET",
    version,
    query: withoutParameter(search, CREDENTIAL),
    body: request.method === "POST" ? parseBody(request) : null,
    accept: request.headers.get("accept"),
  };
  // Another kind of body may hold them where we do not look.
  if (call.body?.kind !== "other") requireModuleAndAction(call);
  return call;
}

/** The key that a stock Etherscan client sends, which here is the caller's token; null when there is none. */
export function callerTokenOf(request: InboundRequest): string | null {
  const { search } = request.url;
  // Most have no key in their query; only an encoded name could hide one from a look at the text.
  const inQuery = MAY_HOLD_CREDENTIAL.test(search) ? parameterIn(search, CREDENTIAL) : null;
  if (inQuery !== null || !isForm(request)) return inQuery;
  return parameterIn(new TextDecoder().decode(request.body ?? new Uint8Array()), CREDENTIAL);
}

function parseBody(request: InboundRequest): EtherscanBody | null {
  const contentType = request.headers.get("content-type");
  if (contentType === null || !FORM.test(contentType)) {
    return request.body === null || request.body.length === 0
      ? null
      : { kind: "other", bytes: request.body, contentType };
  }
  return {
    kind: "form",
    text: withoutParameter(decodeForm(request.body ?? new Uint8Array()), CREDENTIAL),
    contentType,
  };
}

function decodeForm(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new SluiceError("request_invalid", "The form is not UTF-8; percent-encode it as name=value&name=value.", {
      cause,
    });
  }
}

function requireModuleAndAction(call: EtherscanCall): void {
  if (GIVEN.every((parameter) => parameter.test(call.query))) return;
  const given = [...parametersOf(call)].filter(([, value]) => value !== "");
  const names = new Set(given.map(([name]) => name.toLowerCase()));
  const missing = ["module", "action"].filter((name) => !names.has(name));
  if (missing.length === 0) return;
  throw new SluiceError("request_invalid", `${missing.join(" and ")}: not given; write ${EXAMPLE}`);
}

function isForm(request: InboundRequest): boolean {
  return request.method === "POST" && FORM.test(request.headers.get("content-type") ?? "");
}
