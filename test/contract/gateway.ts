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
  /**
   * Whose server reads the bytes (`ours`). A platform's own refuses what is no request in words of its own, and sees that
   * a client has left only when its connection is reset.
   */
  readonly front?: "ours" | "platform";
  /** Whether the platform tells the gateway that a client has left (true). */
  readonly seesLeaving?: boolean;
  /** Whether the platform's server heeds the host in a request's target, as it should, and not only the header (true). */
  readonly seesTargetHost?: boolean;
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
  { seesPeers = true, front = "ours", seesLeaving = true, seesTargetHost = true }: GatewayContractOptions = {},
): void {
  const open = createOpener(start, seesPeers);
  describe(`gateway on ${name}`, () => {
    describeDropIn(open);
    describeReplay(open);
    if (seesLeaving) describeLeaving(open, front);
    describeBounds(open, front);
    describeOperations(open);
    describeAccess(open, { seesPeers, seesTargetHost });
  });
}
