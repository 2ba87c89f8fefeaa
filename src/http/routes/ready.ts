import type { Upstream } from "../../engine/upstream.ts";
import { SluiceError } from "../../errors.ts";
import { json } from "../json.ts";
import type { OpsRoute } from "../ops-route.ts";

interface Readiness {
  readonly upstream: string;
  readonly ready: boolean;
  readonly why: string | null;
}

/** 200 while at least one upstream can serve; else 503 that tells of each why it cannot. */
export function readyRoute(upstreams: readonly Upstream[]): OpsRoute {
  return {
    method: "GET",
    path: "/-/ready",
    access: "open",
    answer() {
      const state = upstreams.map(readiness);
      if (state.some(({ ready }) => ready)) return json({ status: "ready", upstreams: state });
      const configured = upstreams.some(({ definition }) => definition.missing === null);
      throw new SluiceError(
        configured ? "pool_exhausted" : "upstream_not_configured",
        configured ? "No upstream can serve now." : "No upstream is configured.",
        { status: 503, facts: { upstreams: state } },
      );
    },
  };
}

function readiness(upstream: Upstream): Readiness {
  const { missing } = upstream.definition;
  if (missing !== null) return { upstream: upstream.name, ready: false, why: `${missing} is not set` };
  const ready = upstream.capacity() > 0;
  return { upstream: upstream.name, ready, why: ready ? null : "every target is disabled, parked or cooling" };
}
