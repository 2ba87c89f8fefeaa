import { AutoRouter, error } from "itty-router";
import type { Sluice } from "sluice";
import type config from "./sluice.config.ts";

/** The application, the same on every runtime; `main.ts` and `worker.ts` give it a gateway. */
export function createApp(sluice: Sluice<ReturnType<typeof config>["upstreams"]>) {
  return (
    // An error of the gateway's carries facts about its keys: the caller gets the sentence alone.
    AutoRouter({ catch: ({ status = 500, message }: { status?: number; message: string }) => error(status, message) })
      .get("/", () => new Response("the application's own page"))
      // In process, without an HTTP hop and without a token.
      .get("/balance/:address", ({ params: { address } }) =>
        sluice.upstream("etherscan").call("account", "balance", { address }),
      )
      // The gateway's own routes, `/upstream/etherscan/v2/api` and `/upstream/-/health` among them.
      .all("/upstream/*", sluice.fetch)
  );
}
