import type { Transport } from "../../../src/index.ts";

/** What belongs to one connection, or no longer describes the body once a transport has decoded it. */
const NOT_PASSED = ["connection", "content-encoding", "content-length", "host", "keep-alive", "transfer-encoding"];

/**
 * The yardstick: a proxy that forwards a request and returns the answer, and does nothing else. It lets everybody in,
 * counts nothing, chooses nothing. `/etherscan` in front of the path, which tells the gateway the upstream, is cut off.
 */
export function bareProxy(upstream: string, transport: Transport): (request: Request) => Promise<Response> {
  return async (request) => {
    const { method, body, signal } = request;
    const { pathname, search } = new URL(request.url);
    const target = `${upstream}${pathname.slice("/etherscan".length)}${search}`;
    const headers = passed(request.headers);
    const upload = body === null ? {} : { body, duplex: "half" };
    const answer = await transport(new Request(target, { method, headers, signal, redirect: "manual", ...upload }));
    return new Response(answer.body, { status: answer.status, headers: passed(answer.headers) });
  };
}

function passed(given: Headers): Headers {
  const headers = new Headers(given);
  for (const name of NOT_PASSED) headers.delete(name);
  return headers;
}
