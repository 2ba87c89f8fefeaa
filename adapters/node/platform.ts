import type { ServerRequest } from "srvx";
import type { Events, Ledger, Platform } from "../../src/index.ts";
import { nodeClock } from "./clock.ts";
import { nodeTransport } from "./transport.ts";

export interface NodePlatformOptions {
  readonly ledger: Ledger;
  readonly events: Events;
  report(thrown: unknown, requestId: string): void;
}

/** Node's own parts as a platform: `fetch`, the machine's clock, and the peer's address as srvx saw it on the socket. */
export function nodePlatform(options: NodePlatformOptions): Platform {
  return {
    ...options,
    clock: nodeClock,
    transport: nodeTransport,
    peer: (request) => (request as ServerRequest).ip,
  };
}
