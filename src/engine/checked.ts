/** What a protocol of somebody's own may get wrong. It is a fault of the deployment, not of the upstream: reported, and a 500. */

/** Units that a call costs. Throws a TypeError for what is no positive number. */
export function checkedCost(cost: unknown): number {
  if (typeof cost === "number" && Number.isFinite(cost) && cost > 0) return cost;
  throw new TypeError(`The protocol's weigh returned ${String(cost)}; it must return a number above 0.`);
}

/** The request that goes upstream. Throws a TypeError for what cannot be sent. */
export function checkedRequest(request: unknown): Request {
  const { url, bodyUsed } = (typeof request === "object" && request !== null ? request : {}) as Partial<Request>;
  if (typeof url === "string" && /^https?:/.test(url) && bodyUsed === false) return request as Request;
  throw new TypeError("The protocol's attach returned no unused Request for http or https.");
}

/** The call that a route has parsed. Throws a TypeError for a promise of one. */
export function checkedCall(call: unknown): unknown {
  if (!(call instanceof Promise)) return call;
  call.catch(() => {});
  throw new TypeError("The protocol's parse returned a promise; it must return the call itself.");
}
