import type { Answer } from "./engine/protocol.ts";
import { SluiceError } from "./errors.ts";
import type { Verdict } from "./ports/verdict.ts";
import { judgeEtherscan } from "./upstreams/etherscan/judge.ts";

type Judge = (answer: Answer, request: Readonly<Record<string, unknown>>) => Verdict;

/** The protocols whose answers can be judged. */
export type JudgedProtocol = "etherscan";

const JUDGES: Readonly<Record<JudgedProtocol, Judge>> = { etherscan: judgeEtherscan };

/** An answer as its holder has it. */
export interface JudgedAnswer {
  /** HTTP status; null when there was no answer. */
  readonly status: number | null;
  /** Names in any case. */
  readonly headers?: Headers | Readonly<Record<string, string>> | undefined;
  readonly body?: string | null | undefined;
}

/**
 * What an upstream's answer means: class, scope, and what it says about limits and waiting.
 * `request` holds what the call asked for (`{ module, action, chainid, … }`).
 *
 * ```ts
 * import { judge } from "@sluice/sluice";
 *
 * judge("etherscan", { status: 200, body: '{"status":"0","message":"No transactions found","result":[]}' });
 * // { class: "ok", scope: "request", reason: "nothing_found" }
 * ```
 * Throws `request_invalid` for a protocol it does not know, and for nothing else.
 */
export function judge(
  protocol: JudgedProtocol,
  answer: JudgedAnswer,
  request: Readonly<Record<string, unknown>> = {},
): Verdict {
  if (!Object.hasOwn(JUDGES, protocol)) {
    const known = Object.keys(JUDGES).join(", ");
    throw new SluiceError("request_invalid", `There is no protocol of that name to judge by; write one of: ${known}.`);
  }
  return JUDGES[protocol](
    { status: answer.status ?? null, headers: answer.headers ?? {}, body: answer.body ?? "" },
    request,
  );
}
