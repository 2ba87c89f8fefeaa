import { expect, test } from "vitest";
import { SluiceError } from "../../src/errors.ts";
import { problem } from "../../src/http/problem.ts";

test("a problem document tells the error and its facts, and facts never replace its own members", async () => {
  const error = new SluiceError("pool_exhausted", "Every target is out of service.", {
    retryAfterMs: 2300.4,
    facts: { upstream: "etherscan", status: 200, detail: "forged", code: "forged", requestId: "forged" },
  });
  const response = problem(error, "req-1");
  expect(response.status).toBe(503);
  expect(Object.fromEntries(response.headers)).toEqual({
    "cache-control": "no-store",
    "content-type": "application/problem+json",
    "retry-after": "3",
  });
  expect(await response.json()).toEqual({
    type: "docs/errors.md#pool_exhausted",
    title: "No target can serve",
    status: 503,
    detail: "Every target is out of service.",
    code: "pool_exhausted",
    retryAfterMs: 2301,
    requestId: "req-1",
    upstream: "etherscan",
  });
});

test("where waiting does not help there is no Retry-After", () => {
  expect(problem(new SluiceError("route_unknown", "No."), "x").headers.has("retry-after")).toBe(false);
});
