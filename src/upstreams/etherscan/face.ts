import type { CallOptions, CallResult } from "../../engine/call.ts";
import { SluiceError } from "../../errors.ts";
import { joinQueries } from "../../lib/query-text.ts";
import type { EtherscanCall } from "./call.ts";

export type EtherscanParams = Readonly<Record<string, string | number | boolean | undefined>>;

export interface EtherscanFace {
  /**
   * Calls `module.action` on chain 1, or on `params.chainid`, and gives the answer's JSON as the upstream wrote it:
   * an explorer's `{ status, message, result }`, or a JSON-RPC answer for the proxy module.
   *
   * ```ts ignore
   * await sluice.upstream("etherscan").call("account", "balance", { address: "0x…", tag: "latest" });
   * ```
   * Throws a SluiceError when the pool cannot get an answer.
   */
  call(module: string, action: string, params?: EtherscanParams, options?: CallOptions): Promise<unknown>;
}

/** Longer URLs get refused on the way (8 KB is a common limit of proxies). */
const LONGEST_QUERY = 6000;

export function etherscanFace(
  send: (call: EtherscanCall, options?: CallOptions) => Promise<CallResult>,
): EtherscanFace {
  return {
    async call(module, action, params = {}, options) {
      const result = await send(toCall(module, action, params), options);
      return parseAnswer(result.body);
    },
  };
}

function toCall(module: string, action: string, params: EtherscanParams): EtherscanCall {
  const head = new URLSearchParams({ chainid: String(params["chainid"] ?? 1), module, action });
  const rest = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && name !== "chainid" && name.toLowerCase() !== "apikey") rest.append(name, String(value));
  }
  const query = joinQueries(head.toString(), rest.toString());
  const common = { version: 2, accept: "application/json" } as const;
  if (query.length <= LONGEST_QUERY) return { ...common, method: "GET", query, body: null };
  const body = { kind: "form", text: rest.toString(), contentType: "application/x-www-form-urlencoded" } as const;
  return { ...common, method: "POST", query: head.toString(), body };
}

function parseAnswer(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body)) as unknown;
  } catch (cause) {
    throw new SluiceError("upstream_failed", "The upstream's answer is not JSON.", { cause });
  }
}
