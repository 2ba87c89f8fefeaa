import { expect, test } from "vitest";
import { forwardableHeaders } from "../../src/lib/forward-headers.ts";

test("what speaks of the body and of waiting passes, all else stays behind", () => {
  const passing = {
    "cache-control": "no-cache",
    "content-type": "application/json",
    etag: '"1"',
    ratelimit: "limit=3",
    "request-id": "req_1",
    "retry-after": "2",
    "x-ratelimit-remaining-requests": "7",
  };
  const dropped = {
    "access-control-allow-origin": "*",
    "alt-svc": "h3",
    "cf-ray": "1",
    connection: "keep-alive",
    "content-encoding": "gzip",
    "content-length": "5",
    "keep-alive": "timeout=5",
    location: "https://api.etherscan.io/v2/api?apikey=secret",
    server: "nginx",
    "set-cookie": "a=b",
    "strict-transport-security": "max-age=1",
    "transfer-encoding": "chunked",
    upgrade: "h2c",
    "www-authenticate": "Basic",
    "x-request-id": "theirs",
    "x-sluice-trace": "forged",
  };
  expect(Object.fromEntries(forwardableHeaders(new Headers({ ...passing, ...dropped })))).toEqual(passing);
});

test("a protocol lets headers of its own pass, by name and by prefix", () => {
  const headers = new Headers({
    "anthropic-ratelimit-requests-limit": "5",
    "openai-model": "x",
    "openai-organization": "y",
  });
  expect([...forwardableHeaders(headers, ["anthropic-*", "openai-model"]).keys()]).toEqual([
    "anthropic-ratelimit-requests-limit",
    "openai-model",
  ]);
});
