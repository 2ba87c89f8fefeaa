import type { Answer } from "../../engine/protocol.ts";
import { plainText } from "../../lib/plain-text.ts";
import type { Verdict } from "../../ports/verdict.ts";
import { judgePage, judgeStatus, withHeaders } from "./judge-http.ts";
import { judgeRpcError } from "./judge-rpc-error.ts";
import { judgeText, say, type TextContext } from "./judge-text.ts";

/**
 * Longer bodies are not parsed: every refusal ever seen is a sentence, while answers run to many megabytes, and
 * parsing one a second time only to learn that it is an answer would cost more than all the rest of the call.
 */
const PARSE_LIMIT = 262_144;

/**
 * What an answer of Etherscan (v1, v2) or of a clone of its API means. Never throws.
 * HTTP 200 carries most refusals, `status: "0"` carries many answers, and the telling words stand in `result`,
 * in `message` or in a JSON-RPC `error`: the body is read first, and the HTTP status decides what it leaves open.
 */
export function judgeEtherscan(answer: Answer, request: Readonly<Record<string, unknown>>): Verdict {
  const context: TextContext = { status: answer.status, request };
  const body = answer.body.replace(/^\uFEFF/, "").trim();
  const verdict = body.length > PARSE_LIMIT ? judgeLarge(body, answer, context) : judgeBody(body, answer, context);
  return withHeaders(verdict, answer);
}

function judgeBody(body: string, answer: Answer, context: TextContext): Verdict {
  const json = parseJson(body);
  if (isRecord(json)) return judgeEnvelope(withLowerKeys(json), answer, context);
  return judgePage(typeof json === "string" ? json : body, answer, context);
}

/** The head and the tail tell a whole answer from a page or a cut-off one (`status` stands last in Blockscout's). */
function judgeLarge(body: string, answer: Answer, context: TextContext): Verdict {
  if (!body.startsWith("{")) return judgePage(body, answer, context);
  if (answer.status !== null && answer.status >= 300) {
    return judgeStatus(answer) ?? say("network", "upstream", "unexpected_status");
  }
  if (!body.endsWith("}")) return say("network", "upstream", "truncated_body");
  const ends = `${body.slice(0, 500)}\n${body.slice(-500)}`;
  const answers = /"(status|jsonrpc|result|message)"\s*:/i.test(ends);
  return answers ? say("ok", "request", "large_answer") : say("network", "upstream", "unreadable_body");
}

function judgeEnvelope(envelope: Readonly<Record<string, unknown>>, answer: Answer, context: TextContext): Verdict {
  const { status, message, result } = envelope;
  const error = envelope["error"] ?? undefined;
  if (isRecord(error)) return fromStatusUnless(judgeRpcError(error, context), answer);
  const failedHttp = answer.status !== null && answer.status >= 400;
  const state = stateOf(status);
  const texts = [textOf(result), textOf(error), textOf(message), textOf(envelope["detail"]), textOf(envelope["msg"])];

  if (!failedHttp && "result" in envelope && error === undefined && (state === "ok" || state === "absent")) {
    return judgeResult(result, message, state === "absent", context);
  }
  if (!failedHttp && hasData(result)) return say("ok", "request", "data");
  if (state === "later") return say("node_lagging", "upstream", "index_behind");

  for (const text of texts) {
    const spoken = text === "" ? undefined : judgeText(text, context);
    if (spoken !== undefined) return spoken;
  }
  return judgeStatus(answer) ?? judgeSilence(envelope);
}

/** An envelope that says success, or a bare JSON-RPC one. */
function judgeResult(result: unknown, message: unknown, bare: boolean, context: TextContext): Verdict {
  // A node answers in hex; prose in its place is a refusal that must not pass for a hash or a number.
  const fromNode = /^eth_/i.test(plainText(context.request["action"]));
  if (fromNode && typeof result === "string" && !/^0x/i.test(result)) {
    const spoken = judgeText(result, context);
    if (spoken !== undefined && spoken.class !== "ok") return spoken;
  }
  if (bare && /^notok/i.test(plainText(message))) {
    const spoken = judgeText(textOf(result), context) ?? judgeText(textOf(message), context);
    return spoken ?? say("caller_fault", "request", "refused");
  }
  return say("ok", "request", /api key/i.test(textOf(message)) ? "key_warning" : "data");
}

/**
 * A well-formed refusal in words that no rule knows. Explorers answer the same question the same way, so handing it
 * back costs nothing, while a replay would spend quota and blame keys for what a caller repeats at will.
 */
function judgeSilence(envelope: Readonly<Record<string, unknown>>): Verdict {
  const { message, result } = envelope;
  if (Array.isArray(result) || /^ok\b/i.test(plainText(message))) return say("ok", "request", "empty_answer");
  if (["status", "result", "error"].some((name) => name in envelope)) return say("caller_fault", "request", "refused");
  return say("network", "upstream", "unreadable_body");
}

/** Blockscout's `2` says that the answer is not complete yet. */
function stateOf(status: unknown): "ok" | "failed" | "later" | "absent" {
  if (status === undefined || status === null) return "absent";
  const text = plainText(status).toLowerCase();
  if (text === "1" || text === "true" || text === "ok" || text === "success") return "ok";
  return text === "2" ? "later" : "failed";
}

/** Data under `status: "0"`: a list or an object with something in it, or a plain number. */
function hasData(result: unknown): boolean {
  if (Array.isArray(result)) return result.length > 0;
  if (isRecord(result)) return Object.keys(result).length > 0;
  return typeof result === "number" || (typeof result === "string" && /^(0x[0-9a-f]*|\d+)$/i.test(result));
}

/** The sentence in a field, without the bare `NOTOK` or `OK` that says nothing; empty when there is none. */
function textOf(field: unknown): string {
  return typeof field === "string" ? field.trim().replace(/^(notok|ok)\b[\s:-]*/i, "") : "";
}

/** A node's opinion stands, unless it has none and the HTTP status does. */
function fromStatusUnless(verdict: Verdict, answer: Answer): Verdict {
  return verdict.reason === "rpc_rejected" ? (judgeStatus(answer) ?? verdict) : verdict;
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return undefined;
  }
}

function withLowerKeys(record: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key.toLowerCase(), value]));
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
