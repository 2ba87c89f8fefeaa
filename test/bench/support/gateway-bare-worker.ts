import { bareProxy } from "./gateway-bare.ts";

/** The bare proxy as a Worker. */
export default {
  fetch: (request: Request, env: { readonly UPSTREAM: string }): Promise<Response> =>
    bareProxy(env.UPSTREAM, (outgoing) => fetch(outgoing))(request),
};
