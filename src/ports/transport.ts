/** One round trip. Structurally `fetch` called with a Request. Redirects are never followed (`redirect: "manual"`). */
export type Transport = (request: Request) => Promise<Response>;
