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
  /** At once (no promise) for a path that stands in the table as it is and was found before. */
  match(pathname: string): Match<Entry> | Promise<Match<Entry> | undefined>;
}

/**
 * Paths and what stands at them, matched by itty-router.
 *
 * The router gets a bare `{ method, url }` and never the request, on which it would write `params`, `query` and `route`;
 * and a URL without its query, which it would collect in quadratic time (`?a=1&a=1…`) before anybody is asked for a token.
 */
export function createRouteTable<Entry>(basePath = ""): RouteTable<Entry> {
  const router = IttyRouter<IRequest, [], Match<Entry>>({ base: basePath });
  /** What was found at paths that stand in the table as they are; there are no more than were added. */
  const found = new Map<string, Match<Entry> | null>();
  const look = async (pathname: string): Promise<Match<Entry> | undefined> => {
    const match = await router.fetch({ method: "GET", url: `http://sluice${pathname}` });
    if (match === undefined) return undefined;
    const result = { entry: match.entry, params: decode(match.params) };
    if (found.has(pathname)) found.set(pathname, result);
    return result;
  };
  return {
    add(path, entry) {
      if (!/[:*]/.test(path)) found.set(`${basePath}${path}`, null);
      router.all(path, ({ params }) => ({ entry, params }));
    },
    match(pathname) {
      return found.get(pathname) ?? look(pathname);
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
