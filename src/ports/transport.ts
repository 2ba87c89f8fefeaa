/**
 * One round trip. Structurally `fetch` called with a Request, and with the signal that ends it beside it: a Request that
 * holds one must be built for it, which costs more than all the rest. Redirects are never followed (`redirect: "manual"`).
 */
export type Transport = (request: Request, init?: { readonly signal: AbortSignal }) => Promise<Response>;
