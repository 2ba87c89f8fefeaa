import type { SluiceError } from "../errors.ts";
import { problem } from "./problem.ts";
import { makeRequestId } from "./request-id.ts";

/** What stands in for a gateway that cannot be: every request learns why. */
export function refuseAll(error: SluiceError, random: () => number): () => Promise<Response> {
  return async () => {
    const requestId = makeRequestId(random);
    const response = problem(error, requestId);
    response.headers.set("x-request-id", requestId);
    return response;
  };
}
