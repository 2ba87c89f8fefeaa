import type { Upstream } from "../../engine/upstream.ts";
import type { Clock } from "../../ports/clock.ts";
import { json } from "../json.ts";
import type { OpsRoute } from "../ops-route.ts";

/** What this isolate knows of every upstream, and since when it runs. Times are epoch milliseconds. */
export function statsRoute(upstreams: readonly Upstream[], clock: Clock, version: string): OpsRoute {
  const startedAt = clock.now();
  return {
    method: "GET",
    path: "/-/stats",
    access: "operator",
    answer() {
      const at = clock.now();
      const uptimeMs = Math.max(0, Math.round(at - startedAt));
      return json({ version, at, uptimeMs, upstreams: upstreams.map((upstream) => upstream.stats()) });
    },
  };
}
