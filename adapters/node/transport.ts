import type { Transport } from "../../src/index.ts";

/** Node's own `fetch`. */
export const nodeTransport: Transport = (request) => fetch(request);
