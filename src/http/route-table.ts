import { IttyRouter } from "itty-router";
import type { IRequest } from "itty-router";

export interface Match<Entry> {
  readonly entry: Entry;
  /** The path's named parts, decoded. */
  readonly params: Readonly<Record<string, string>>;
}

export interface RouteTable<Entry> {
  /** Paths in itty-router's syntax; the first added that matches wins. */
  add(path: string, entry: Entry): void;
  match(pathname: string): Promise<Match<Entry> | undefined>;
}

/**
 * Paths and what stands at them, matched by itty-router.
 *
 * The router gets a bare `{ method, url }` and never the request, on which it would write `params`, `query` and `route`;
 * and a URL without its query, which it would collect in quadratic time (`?a=1&a=1…`) before anybody is asked for a token.
 */
export function createRouteTable<Entry>(basePath = ""): RouteTable<Entry> {
  const router = IttyRouter<IRequest, [], Match<Entry>>({ base: basePath });
  return {
    add(path, entry) {
      router.all(path, ({ params }) => ({ entry, params }));
    },
    async match(pathname) {
      const match = await router.fetch({ method: "GET", url: `http://sluice${pathname}` });
      return match === undefined ? undefined : { entry: match.entry, params: decode(match.params) };
    },
  };
}

function decode(params: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => {
      try {
        return [name, decodeURIComponent(value)];
      } catch {
        return [name, value];
      }
    }),
  );
}
