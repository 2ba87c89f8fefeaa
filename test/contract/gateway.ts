import { describe } from "vitest";
import { describeAccess } from "./gateway-access.ts";
import { describeBounds } from "./gateway-bounds.ts";
import { createOpener, type StartGateway } from "./gateway-client.ts";
import { describeDropIn } from "./gateway-drop-in.ts";
import { describeLeaving } from "./gateway-leaving.ts";
import { describeOperations } from "./gateway-operations.ts";
import { describeReplay } from "./gateway-replay.ts";

export interface GatewayContractOptions {
  /** Whether the platform tells the gateway the peer's address (true). Without it, only tokens let anybody in. */
  readonly seesPeers?: boolean;
}

/**
 * What every platform's gateway must do, seen from outside alone: over HTTP, against a sandbox upstream.
 *
 * `start` gets the settings of README's table as environment variables (never HOST, PORT or SLUICE_STATE) and gives a
 * gateway with a state of its own.
 */
export function gatewayContract(
  name: string,
  start: StartGateway,
  { seesPeers = true }: GatewayContractOptions = {},
): void {
  const open = createOpener(start, seesPeers);
  describe(`gateway on ${name}`, () => {
    describeDropIn(open);
    describeReplay(open);
    describeLeaving(open);
    describeBounds(open);
    describeOperations(open);
    describeAccess(open, seesPeers);
  });
}
