/** The part of the runtime's own module that the adapter uses; the official types are tested against it. */
declare module "cloudflare:workers" {
  export abstract class DurableObject {
    // An import of its own would make this file a module, and what it declares an addition to one that is not there.
    // oxlint-disable-next-line typescript/consistent-type-imports
    protected readonly ctx: import("./object-state.ts").ObjectState;
    protected readonly env: unknown;
    // oxlint-disable-next-line typescript/consistent-type-imports
    constructor(ctx: import("./object-state.ts").ObjectState, env: unknown);
  }
  /** Throws outside of a request. */
  export function waitUntil(work: Promise<unknown>): void;
}
