import type { Upstream } from "../../engine/upstream.ts";
import { SluiceError } from "../../errors.ts";
import { json } from "../json.ts";
import type { OpsRoute } from "../ops-route.ts";

/** An operator takes a target out of service, or puts it back. Targets go by their ids (see `/-/stats`). */
export function adminTargetsRoute(upstreams: readonly Upstream[]): OpsRoute {
  return {
    method: "POST",
    path: "/-/admin/targets/:upstream/:target/:action",
    access: "operator",
    async answer({ params }) {
      const { action, target } = params;
      if (action !== "enable" && action !== "disable") {
        throw new SluiceError("route_unknown", "A target can be told to `enable` or `disable`, nothing else.");
      }
      const upstream = upstreams.find(({ name }) => name === params["upstream"]);
      if (upstream === undefined) {
        const names = upstreams.map(({ name }) => name);
        throw new SluiceError("route_unknown", "There is no upstream of this name.", { facts: { upstreams: names } });
      }
      const targets = upstream.definition.targets.map(({ id }) => id);
      if (target === undefined || !targets.includes(target)) {
        throw new SluiceError("route_unknown", `Upstream ${upstream.name} has no target of this id.`, {
          facts: { targets },
        });
      }
      await upstream.order(target, action);
      return json({ upstream: upstream.name, target, action });
    },
  };
}
