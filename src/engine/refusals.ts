import { SluiceError } from "../errors.ts";
import { seconds } from "../lib/duration.ts";

/** Why a pool does not admit a call, in the words that its caller reads. All times are milliseconds from now. */
export function clientGone(): SluiceError {
  return new SluiceError("client_gone", "The client went away before the answer was there.");
}

export function closing(): SluiceError {
  return new SluiceError("closed", "The gateway is shutting down.");
}

export function queueFull(maxQueue: number, backlogMs: number): SluiceError {
  return new SluiceError("queue_full", `${maxQueue} calls wait already; try again later or raise maxQueue.`, {
    retryAfterMs: backlogMs,
  });
}

export function waitTooLong(backlogMs: number): SluiceError {
  return new SluiceError("wait_too_long", "No slot came free in time; send fewer calls, add keys or raise maxWaitMs.", {
    retryAfterMs: backlogMs,
  });
}

/** `backMs` is Infinity when no target comes back by itself. */
export function outOfService(backMs: number): SluiceError {
  if (backMs === Infinity) {
    return new SluiceError(
      "pool_exhausted",
      "Every target is disabled; see /-/stats for the reasons and replace the keys.",
    );
  }
  const retryAfterMs = Math.ceil(backMs);
  return new SluiceError(
    "pool_exhausted",
    `Every target is out of service; the first is back in ${seconds(retryAfterMs)}.`,
    { retryAfterMs },
  );
}

/** Targets are in service, but the upstream has refused calls of this kind to each. */
export function refusedToEach(needs: readonly string[], backMs: number): SluiceError {
  return new SluiceError(
    "pool_exhausted",
    `No target may serve this call (${needs.join(", ")}): the upstream refused it to each; add a key whose plan covers it.`,
    { retryAfterMs: Math.ceil(backMs) },
  );
}
