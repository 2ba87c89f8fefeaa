import type { Server, ServerResponse } from "node:http";

/** A client that has its answer may still be sending (a refused body): cut at once, it might lose the answer. */
const LINGER_MS = 250;

/**
 * Makes a server stoppable: the function returned stops accepting, lets requests under way have their answers, and
 * resolves when the last connection has ended, by force after `withinMs`.
 *
 * Node's own `close` leaves a connection open after its last answer, for as long as keep-alive lasts: here that answer
 * says `Connection: close`.
 */
export function drainOnStop(http: Server): (withinMs: number) => Promise<void> {
  const open = new Set<ServerResponse>();
  let onAnswered: (() => void) | null = null;
  http.prependListener("request", (_request: unknown, response: ServerResponse) => {
    if (onAnswered !== null) response.shouldKeepAlive = false;
    open.add(response);
    response.once("close", () => {
      open.delete(response);
      if (open.size === 0) onAnswered?.();
    });
  });
  return async (withinMs) => {
    const closed = new Promise<void>((resolve) => http.close(() => resolve()));
    let timer = setTimeout(() => http.closeAllConnections(), withinMs);
    onAnswered = () => {
      clearTimeout(timer);
      timer = setTimeout(() => http.closeAllConnections(), LINGER_MS);
    };
    if (open.size === 0) onAnswered();
    for (const response of open) {
      if (response.headersSent) response.once("finish", () => response.req.socket.end());
      else response.shouldKeepAlive = false;
    }
    await closed;
    clearTimeout(timer);
  };
}
