import type { Background } from "../../src/index.ts";

/** Where Vercel's runtimes, Node and Edge, keep the request under way; `@vercel/functions` looks there too, and is 40 KB. */
const CONTEXT = Symbol.for("@vercel/request-context");

interface ContextHolder {
  get?(): { waitUntil?(work: Promise<unknown>): void } | undefined;
}

/** Keeps the function running after its response. Elsewhere than on Vercel nothing stops it, and there is nothing to keep. */
export const functionBackground: Background = {
  waitUntil(work) {
    const quiet = work.catch(() => {});
    const holder = (globalThis as { [CONTEXT]?: ContextHolder })[CONTEXT];
    holder?.get?.()?.waitUntil?.(quiet);
  },
};
