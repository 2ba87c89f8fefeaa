/** The part of the runtime's own module that the adapter uses; the official types are tested against it. */
declare module "cloudflare:workers" {
  export abstract class DurableObject {
    protected readonly ctx: import("./object-state.ts").ObjectState;
    protected readonly env: unknown;
    constructor(ctx: import("./object-state.ts").ObjectState, env: unknown);
  }
  /** Throws outside of a request. */
  export function waitUntil(work: Promise<unknown>): void;
}
