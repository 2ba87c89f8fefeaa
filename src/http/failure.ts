import { SluiceError } from "../errors.ts";

/**
 * Gets what was thrown where nothing should be. It may be anything and hold secrets: redact before it is shown.
 */
export type Report = (thrown: unknown, requestId: string) => void;

/** What is told of a thrown value that is not of our own family: the request's id, under which it is reported. */
export function internalError(thrown: unknown, requestId: string, report: Report | undefined): SluiceError {
  try {
    report?.(thrown, requestId);
  } catch {
    // A broken reporter must not take the answer with it.
  }
  return new SluiceError("internal", `The gateway failed; its operator finds the reason under request ${requestId}.`, {
    facts: { requestId },
  });
}
