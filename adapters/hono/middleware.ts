import type { MiddlewareHandler } from "hono";
import type { Sluice, Upstreams } from "../../src/index.ts";

/** The variable that `sluiceMiddleware` sets. */
export interface SluiceVariables<U extends Upstreams = Upstreams> {
  sluice: Sluice<U>;
}

/**
 * Gives Hono's handlers the gateway in process, typed: `c.var.sluice.upstream("etherscan").call(…)`. To serve the
 * gateway's own routes below a path, mount it instead: `app.mount("/upstream", sluice.fetch)`.
 */
export function sluiceMiddleware<U extends Upstreams>(
  sluice: Sluice<U>,
): MiddlewareHandler<{ Variables: SluiceVariables<U> }> {
  return async (c, next) => {
    c.set("sluice", sluice);
    await next();
  };
}
