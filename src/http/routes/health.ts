import { json } from "../json.ts";
import type { OpsRoute } from "../ops-route.ts";

/** Says that the process answers; nothing about its upstreams (`ready` does). */
export function healthRoute(): OpsRoute {
  return { method: "GET", path: "/-/health", access: "open", answer: () => json({ status: "ok" }) };
}
