import { Hono } from "hono";
import { type Sluice, SluiceError } from "sluice";
import { sluiceMiddleware } from "sluice/hono";
import type config from "./sluice.config.ts";

/** The application, the same on every runtime; `main.ts` and `worker.ts` give it a gateway. */
export function createApp(sluice: Sluice<ReturnType<typeof config>["upstreams"]>) {
  return (
    new Hono()
      // `c.var.sluice`, typed: calls in process, without an HTTP hop and without a token.
      .use(sluiceMiddleware(sluice))
      .get("/", (c) => c.text("the application's own page"))
      .get("/balance/:address", async (c) =>
        Response.json(await c.var.sluice.upstream("etherscan").call("account", "balance", c.req.param())),
      )
      // The gateway's own routes, `/upstream/etherscan/v2/api` and `/upstream/-/health` among them; Hono strips the prefix.
      .mount("/upstream", sluice.fetch)
      .onError((error) =>
        Response.json({ error: error.message }, { status: error instanceof SluiceError ? error.status : 500 }),
      )
  );
}
