import { createGate } from "../callers/gate.ts";
import type { Gate, Visit } from "../callers/gate.ts";
import type { AdminOption, CallersOption } from "../callers/options.ts";
import type { AttemptTrace } from "../engine/call.ts";
import type { ProtocolRoute } from "../engine/protocol.ts";
import type { Upstream } from "../engine/upstream.ts";
import { SluiceError } from "../errors.ts";
import type { Clock } from "../ports/clock.ts";
import { addCorsHeaders, preflight } from "./cors.ts";
import type { CorsOption } from "./cors.ts";
import type { EventFeed } from "./event-feed.ts";
import { internalError } from "./failure.ts";
import type { Report } from "./failure.ts";
import { DEFAULT_LIMITS } from "./limits.ts";
import type { HandlerLimits } from "./limits.ts";
import type { OpsRoute } from "./ops-route.ts";
import { addErrorHeaders, problem } from "./problem.ts";
import { makeRequestId, requestIdOf } from "./request-id.ts";
import { createRouteTable } from "./route-table.ts";
import type { Match, RouteTable } from "./route-table.ts";
import { adminTargetsRoute } from "./routes/admin-targets.ts";
import { answerCall, wantsTrace } from "./routes/call.ts";
import { eventsRoute } from "./routes/events.ts";
import { healthRoute } from "./routes/health.ts";
import { readyRoute } from "./routes/ready.ts";
import { statsRoute } from "./routes/stats.ts";
import { traceHeader } from "./trace-header.ts";

export interface HandlerOptions {
  readonly upstreams: readonly Upstream[];
  readonly clock: Clock;
  readonly feed: EventFeed;
  /** The kit's own version, for `/-/stats`. */
  readonly version: string;
  readonly callers?: CallersOption | undefined;
  readonly admin?: AdminOption | undefined;
  /** The peer's address as the adapter sees it, never from a header; undefined where it is unknown. */
  readonly peer?: ((request: Request) => string | undefined) | undefined;
  /** How a setting is set on this platform, for messages. */
  readonly howToSet?: ((setting: string) => string) | undefined;
  readonly limits?: Partial<HandlerLimits> | undefined;
  /** Left out: no CORS headers, and OPTIONS is a method like any other. */
  readonly cors?: CorsOption | undefined;
  /** What stands before every route (`/upstream`), for mounts that keep their prefix. */
  readonly basePath?: string | undefined;
  readonly report?: Report | undefined;
  /** Makes ids for requests that bring none; by default from the clock's dice. */
  readonly requestId?: (() => string) | undefined;
}

/** What stands at a path: an operations route, an upstream's routes by method, or a place below an upstream without one. */
type Entry =
  | { readonly kind: "ops"; readonly route: OpsRoute }
  | { readonly kind: "call"; readonly upstream: Upstream; readonly routes: ReadonlyMap<string, ProtocolRoute<unknown>> }
  | { readonly kind: "lost"; readonly upstream: Upstream; readonly routes: readonly string[] };

/**
 * The HTTP face: a function that answers every request and never throws.
 *
 * Below an upstream's name errors have the protocol's own form; everywhere else they are problem documents.
 * Throws `config_invalid` for callers, tokens or a base path that cannot be.
 */
export function createHandler(options: HandlerOptions): (request: Request) => Promise<Response> {
  const { upstreams, clock, feed, version, cors, report } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const makeId = options.requestId ?? (() => makeRequestId(() => clock.random()));
  const gate = createGate({
    callers: options.callers,
    admin: options.admin,
    peer: options.peer,
    howToSet: options.howToSet,
    origins: cors === undefined || cors.origins === "*" ? [] : cors.origins,
  });
  const ops = [
    healthRoute(),
    readyRoute(upstreams),
    statsRoute(upstreams, clock, version),
    eventsRoute(feed, clock, limits.maxEventStreams),
    adminTargetsRoute(upstreams),
  ];
  const basePath = parseBasePath(options.basePath);
  const table = createRouteTable<Entry>(basePath);
  const listed = fillTable(table, basePath, ops, upstreams);

  const toError = (thrown: unknown, request: Request, requestId: string, upstream?: Upstream): SluiceError => {
    if (thrown instanceof SluiceError) return thrown;
    if (request.signal.aborted) return new SluiceError("client_gone", "The client left before it had its answer.");
    if (upstream !== undefined) {
      const at = clock.now();
      feed.emit({ type: "call_failed", at, upstream: upstream.name, code: "internal", attempts: 0, class: null });
    }
    return internalError(thrown, requestId, report);
  };

  const answer = async (request: Request, requestId: string): Promise<Response> => {
    if (cors !== undefined && request.method === "OPTIONS") return preflight(cors, request);
    const isTooLong = request.url.length > limits.maxUrlBytes;
    // The start of an overlong URL still tells whose form the refusal takes.
    const url = new URL(isTooLong ? request.url.slice(0, limits.maxUrlBytes).replace(/[?#].*$/s, "") : request.url);
    const looked = table.match(url.pathname);
    const match = looked instanceof Promise ? await looked : looked;
    const upstream = match === undefined || match.entry.kind === "ops" ? undefined : match.entry.upstream;
    try {
      if (isTooLong) throw urlTooLong(limits.maxUrlBytes);
      if (match === undefined) {
        throw new SluiceError("route_unknown", "There is no such route here.", { facts: { routes: listed } });
      }
      return await answerMatch(match, { request, url }, gate, limits);
    } catch (thrown) {
      const error = toError(thrown, request, requestId, upstream);
      if (upstream === undefined) return problem(error, requestId);
      const response = upstream.protocol.refuse(error);
      addErrorHeaders(response.headers, error);
      const { attempts } = error.facts;
      if (isTrace(attempts) && wantsTrace(request)) {
        response.headers.set("x-sluice-trace", traceHeader(upstream.name, attempts));
      }
      return response;
    }
  };

  const stamp = (response: Response, request: Request, requestId: string): Response => {
    response.headers.set("x-request-id", requestId);
    if (cors !== undefined) addCorsHeaders(response.headers, cors, request.headers.get("origin"));
    return response;
  };

  return async (request) => {
    const requestId = requestIdOf(request.headers, makeId);
    try {
      return stamp(await answer(request, requestId), request, requestId);
    } catch (thrown) {
      return stamp(problem(toError(thrown, request, requestId), requestId), request, requestId);
    }
  };
}

async function answerMatch(
  { entry, params }: Match<Entry>,
  visit: Visit,
  gate: Gate,
  limits: HandlerLimits,
): Promise<Response> {
  const { method } = visit.request;
  if (entry.kind === "lost") {
    const { upstream, routes } = entry;
    throw new SluiceError("route_unknown", `${upstream.name} has no such route; it has ${routes.join(", ")}.`, {
      facts: { routes },
    });
  }
  if (entry.kind === "call") {
    const route = entry.routes.get(method);
    if (route === undefined) throw methodNotAllowed([...entry.routes.keys()]);
    return answerCall(entry.upstream, route, visit, gate, limits.maxRequestBytes);
  }
  const { route } = entry;
  const isHead = method === "HEAD" && route.method === "GET";
  if (method !== route.method && !isHead) {
    throw methodNotAllowed(route.method === "GET" ? ["GET", "HEAD"] : [route.method]);
  }
  if (route.access === "operator") {
    const refusal = await gate.operator(visit);
    if (refusal !== null) throw refusal;
  }
  const response = await route.answer({ request: visit.request, params });
  if (!isHead) return response;
  await response.body?.cancel();
  return new Response(null, { status: response.status, headers: response.headers });
}

/** Returns what the table holds, one line a path, as a 404 shows it. */
function fillTable(
  table: RouteTable<Entry>,
  basePath: string,
  ops: readonly OpsRoute[],
  upstreams: readonly Upstream[],
): readonly string[] {
  const listed: string[] = [];
  for (const upstream of upstreams) {
    const byPath = new Map<string, Map<string, ProtocolRoute<unknown>>>();
    for (const route of upstream.protocol.routes) {
      const path = `/${upstream.name}${route.path}`;
      const routes = byPath.get(path) ?? new Map<string, ProtocolRoute<unknown>>();
      for (const method of route.methods) routes.set(method, route);
      byPath.set(path, routes);
    }
    const lines = [...byPath].map(([path, routes]) => `${[...routes.keys()].join("|")} ${basePath}${path}`);
    for (const [path, routes] of byPath) table.add(path, { kind: "call", upstream, routes });
    table.add(`/${upstream.name}/*`, { kind: "lost", upstream, routes: lines });
    listed.push(...lines);
  }
  for (const route of ops) {
    table.add(route.path, { kind: "ops", route });
    listed.push(`${route.method} ${basePath}${route.path}`);
  }
  return listed;
}

function parseBasePath(basePath = ""): string {
  if (basePath === "" || basePath === "/") return "";
  if (!/^(?:\/[\w.~-]+)+\/?$/.test(basePath)) {
    throw new SluiceError("config_invalid", 'basePath must be a plain path such as "/upstream".');
  }
  return basePath.replace(/\/$/, "");
}

function methodNotAllowed(allow: readonly string[]): SluiceError {
  return new SluiceError("method_not_allowed", `This route takes ${allow.join(", ")}.`, { facts: { allow } });
}

function urlTooLong(maxUrlBytes: number): SluiceError {
  return new SluiceError("request_too_large", `The request's URL may have at most ${maxUrlBytes} characters.`, {
    status: 414,
    facts: { maxUrlBytes },
  });
}

function isTrace(value: unknown): value is readonly AttemptTrace[] {
  return (
    Array.isArray(value) && value.every((item: unknown) => typeof item === "object" && item !== null && "class" in item)
  );
}
