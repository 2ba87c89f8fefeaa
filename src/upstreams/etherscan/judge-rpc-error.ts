import { anyOf } from "../../lib/any-of.ts";
import { plainText } from "../../lib/plain-text.ts";
import type { Verdict } from "../../ports/verdict.ts";
import { judgeText, say, type TextContext } from "./judge-text.ts";

/** Codes of a revert: geth's, and Parity's and Nethermind's. */
const REVERT_CODES = new Set([3, -32015]);
const METHOD_NOT_FOUND = -32601;
/** A contract may revert with as much text as it likes; the telling words stand in front. */
const LONGEST_MESSAGE = 1000;
const INTERNAL_ERROR = -32603;

const REVERT = /\brevert(ed)?\b|vm execution error/i;
const TX_KNOWN = anyOf(
  /already known|known transaction|already imported/,
  /already in (the )?(mem)?pool|transaction already exists/,
);
const TX_FAULT = anyOf(
  /nonce too (low|high)|underpriced|insufficient (funds|balance)|fee (cap )?(too low|less than)/,
  /intrinsic gas|gas (limit|required) (exceed|too)|exceeds block gas limit|out of gas/,
  /invalid sender|invalid chain ?id|replay-protected|(transaction|tx) ?type not supported/,
  /invalid opcode|stack (under|over)flow/,
);
const NODE_TIMEOUT = /timed ?out|time-?out|deadline exceeded|execution aborted|request (was )?cancell?ed/i;
const NODE_BEHIND = anyOf(
  /missing trie node|header not found|(unknown|unfinali[sz]ed) block|block not found|beyond current head/,
  /state (is )?(not available|unavailable)|pruned|historical (state|rpc)|no historical/,
  /not processed yet|indexing is in progress|node is (syncing|not synced)/,
);
const METHOD_MISSING = /method .*(not found|not available|not supported|does not exist)|unsupported method/i;
const RANGE = /range (is )?(too|exceed)|exceed(s|ed)? .*(range|results)|more than \d+ results/i;
const NODE_RATE = /limit exceeded|request rate|capacity/i;

/**
 * The error of a node that the proxy module handed on: the JSON-RPC error object.
 * A revert's text is written by a contract, so it is looked for before any word is believed.
 */
export function judgeRpcError(error: Readonly<Record<string, unknown>>, context: TextContext): Verdict {
  const code = Number(plainText(error["code"]));
  const message = plainText(error["message"]).slice(0, LONGEST_MESSAGE);
  const data = typeof error["data"] === "string" ? error["data"] : "";
  if (REVERT.test(message) || /^revert/i.test(data)) return say("ok", "request", "revert");
  if (TX_KNOWN.test(message)) return say("tx_known", "request", "transaction_known");
  if (TX_FAULT.test(message)) return say("caller_fault", "request", "transaction_rejected");
  if (NODE_BEHIND.test(message)) return say("node_lagging", "node", "state_or_block_missing");
  if (REVERT_CODES.has(code)) return say("ok", "request", "revert");
  if (RANGE.test(message)) return say("range_too_large", "request", "range_or_window");
  if (code === METHOD_NOT_FOUND || METHOD_MISSING.test(message)) {
    return say("method_unsupported", "upstream+method", "method_missing");
  }
  const spoken = judgeText(message, context);
  if (spoken !== undefined && spoken.class !== "network") return spoken;
  if (NODE_TIMEOUT.test(message)) return say("network", "node", "node_timeout");
  if (NODE_RATE.test(message) || code === 429) {
    return { ...say("rate_limited_second", "key", "node_rate_limit"), retryAfterMs: 1000 };
  }
  if (spoken !== undefined || (code === INTERNAL_ERROR && message === "")) {
    return say("network", "upstream", "internal_error");
  }
  // What is left is the virtual machine's or the parameter parser's opinion of the request: deterministic.
  return say("caller_fault", "request", "rpc_rejected");
}
