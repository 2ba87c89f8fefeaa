import { presentedTokens } from "../../callers/credentials.ts";
import type { Gate, Visit } from "../../callers/gate.ts";
import type { CallResult, Priority } from "../../engine/call.ts";
import { checkedCall } from "../../engine/checked.ts";
import type { ProtocolRoute } from "../../engine/protocol.ts";
import type { Upstream } from "../../engine/upstream.ts";
import { SluiceError } from "../../errors.ts";
import { forwardableHeaders } from "../../lib/forward-headers.ts";
import { Inbound } from "../inbound.ts";
import { readBody } from "../read-body.ts";
import { traceHeader } from "../trace-header.ts";

const PRIORITIES: readonly Priority[] = ["critical", "interactive", "batch"];

/**
 * Takes a client's call through the gate to its upstream and brings the answer back: its status, those of its headers
 * that may pass, its body as it came. Throws SluiceErrors; the router has the protocol put them into its own form.
 */
export async function answerCall(
  upstream: Upstream,
  route: ProtocolRoute<unknown>,
  visit: Visit,
  gate: Gate,
  maxRequestBytes: number,
): Promise<Response> {
  const { request, url } = visit;
  let inbound = await admitCaller(upstream, visit, gate, maxRequestBytes);
  const asked = request.headers.get("x-sluice-priority");
  const priority = asked === null ? undefined : await priorityOf(asked, visit, gate);
  if (inbound.body === null && mayHaveBody(request)) {
    inbound = new Inbound(request, url, await readBody(request, maxRequestBytes));
  }
  const result = await upstream.send(checkedCall(route.parse(inbound)), { signal: request.signal, priority });
  const response = toResponse(result);
  if (wantsTrace(request)) response.headers.set("x-sluice-trace", traceHeader(upstream.name, result.attempts));
  return response;
}

export function wantsTrace(request: Request): boolean {
  return request.headers.get("x-sluice-trace") === "1";
}

async function admitCaller(upstream: Upstream, visit: Visit, gate: Gate, maxBytes: number): Promise<Inbound> {
  const { request, url } = visit;
  const { protocol } = upstream;
  let inbound = new Inbound(request, url);
  const tokens: string[] = [];
  if (gate.asksToken) {
    tokens.push(...presentedTokens(request.headers));
    let own = protocol.callerToken?.(inbound);
    // Unmodified clients put their key into the form that they post. Only then is a body read before its sender is known.
    if (!own && tokens.length === 0 && protocol.callerToken !== undefined && isForm(request)) {
      inbound = new Inbound(request, url, await readBody(request, maxBytes));
      own = protocol.callerToken(inbound);
    }
    if (own) tokens.push(own);
  }
  const admission = gate.caller(visit, tokens);
  const refusal = admission instanceof Promise ? await admission : admission;
  if (refusal !== null) throw refusal;
  return inbound;
}

/** `critical` passes everybody else's calls, so it is the operator's alone: by the same rule as `/-/stats`. */
async function priorityOf(asked: string, visit: Visit, gate: Gate): Promise<Priority> {
  const priority = PRIORITIES.find((known) => known === asked);
  if (priority === undefined) {
    throw new SluiceError("request_invalid", `X-Sluice-Priority is one of ${PRIORITIES.join(", ")}.`);
  }
  if (priority === "critical" && (await gate.operator(visit)) !== null) {
    throw new SluiceError(
      "admin_only",
      "Critical calls are the operator's: send the operator's token as `Authorization: Bearer …`, or leave X-Sluice-Priority out.",
      { status: 403 },
    );
  }
  return priority;
}

function mayHaveBody({ method }: Request): boolean {
  return method !== "GET" && method !== "HEAD";
}

function isForm(request: Request): boolean {
  return (
    mayHaveBody(request) &&
    (request.headers.get("content-type") ?? "").toLowerCase().startsWith("application/x-www-form-urlencoded")
  );
}

function toResponse({ status, headers, body }: CallResult): Response {
  const isBodiless = status === 204 || status === 205 || status === 304;
  return new Response(isBodiless ? null : body, { status, headers: forwardableHeaders(headers) });
}
