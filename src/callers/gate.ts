import { SluiceError } from "../errors.ts";
import { bearerToken } from "./credentials.ts";
import { isLoopbackAddress, isLoopbackHost, isLoopbackHostHeader, isLoopbackOrigin } from "./loopback.ts";
import type { AdminOption, CallersOption } from "./options.ts";
import { parseTokens } from "./parse-tokens.ts";
import { createTokenSet } from "./tokens.ts";
import type { TokenSet } from "./tokens.ts";

/** What proxies add: whoever stands behind one is not this machine. */
const PROXY_HEADERS = [
  "forwarded",
  "via",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
  "cf-connecting-ip",
  "true-client-ip",
];

/** A request at the gate. */
export interface Visit {
  readonly request: Request;
  readonly url: URL;
}

/** Null lets the visit in; the error says why not. A promise only where a token is seen for the first time. */
export type Admission = SluiceError | null | Promise<SluiceError | null>;

/** Decides who may call and who may operate. Closed by default. */
export interface Gate {
  /** Whether callers must present a token: only then does `caller` look at `tokens`. */
  readonly asksToken: boolean;
  /**
   * `caller_unknown` (401) without a valid token where tokens are configured; else, unless callers are public,
   * `callers_not_configured` (503) for all but this machine and `forbidden_origin` (403) for web pages on it.
   * The operator's token is good for calls too.
   */
  caller(visit: Visit, tokens: readonly string[]): Admission;
  /** `admin_only` (401) without the operator's bearer token, or, where none is configured, for all but this machine. */
  operator(visit: Visit): Admission;
}

export interface GateOptions {
  readonly callers?: CallersOption | undefined;
  readonly admin?: AdminOption | undefined;
  /** The peer's address as the adapter sees it, never from a header; undefined where it is unknown. */
  readonly peer?: ((request: Request) => string | undefined) | undefined;
  /** How a setting is set on this platform, for messages. */
  readonly howToSet?: ((setting: string) => string) | undefined;
  /** Origins that the operator has named (CORS); pages of theirs may call a gateway that has no tokens. */
  readonly origins?: readonly string[] | undefined;
}

/** Throws `config_invalid` for bad tokens, and when the operator's token is also a caller's. */
export function createGate({ callers, admin, peer, howToSet, origins = [] }: GateOptions): Gate {
  const how = (setting: string): string => (howToSet === undefined ? "" : ` with \`${howToSet(setting)}\``);
  const given = callers === "public" ? undefined : callers?.tokens;
  const callerTokens = given === undefined ? [] : parseTokens("callers.tokens (SLUICE_TOKENS)", given);
  const adminTokens = admin?.token === undefined ? [] : parseTokens("admin.token (SLUICE_ADMIN_TOKEN)", [admin.token]);
  if (adminTokens.some((token) => callerTokens.includes(token))) {
    throw new SluiceError(
      "config_invalid",
      "admin.token (SLUICE_ADMIN_TOKEN) is also in callers.tokens: every such caller would be an operator. Make another with `openssl rand -hex 24`.",
    );
  }
  const callerSet = callerTokens.length === 0 ? null : createTokenSet([...callerTokens, ...adminTokens]);
  const adminSet = adminTokens.length === 0 ? null : createTokenSet(adminTokens);

  const locality = ({ request, url }: Visit, named: readonly string[]): "local" | "web" | "remote" => {
    const address = peer?.(request);
    if (address === undefined || !isLoopbackAddress(address)) return "remote";
    // A proxy on this machine makes everybody a loopback peer: a header cannot make a visit local, but it can unmake it.
    const { headers } = request;
    if (PROXY_HEADERS.some((name) => headers.has(name))) return "remote";
    const host = headers.get("host");
    if (!isLoopbackHost(url.hostname) || (host !== null && !isLoopbackHostHeader(host))) return "web";
    const origin = headers.get("origin");
    if (origin !== null) return isLoopbackOrigin(origin) || named.includes(origin) ? "local" : "web";
    // Images, links and scripts of a foreign page send no Origin.
    if (headers.get("sec-fetch-site") !== "cross-site") return "local";
    return isLoopbackOrigin(headers.get("referer") ?? "") ? "local" : "web";
  };

  return {
    asksToken: callerSet !== null,
    caller(visit, tokens) {
      if (callerSet !== null) {
        return admit(callerSet, tokens, () => callerUnknown(tokens.length > 0));
      }
      if (callers === "public") return null;
      const where = locality(visit, origins);
      return where === "local" ? null : where === "web" ? forbiddenOrigin() : callersNotConfigured(how);
    },
    operator(visit) {
      if (adminSet !== null) {
        const bearer = bearerToken(visit.request.headers);
        return admit(adminSet, bearer === null ? [] : [bearer], adminTokenNeeded);
      }
      const where = locality(visit, []);
      return where === "local" ? null : where === "web" ? forbiddenOrigin() : adminNotConfigured(how);
    },
  };
}

function admit(set: TokenSet, tokens: readonly string[], refusal: () => SluiceError): Admission {
  const pending: Promise<boolean>[] = [];
  for (const token of tokens) {
    const answer = set.has(token);
    if (answer === true) return null;
    if (answer !== false) pending.push(answer);
  }
  if (pending.length === 0) return refusal();
  return Promise.all(pending).then((answers) => (answers.includes(true) ? null : refusal()));
}

function callerUnknown(presented: boolean): SluiceError {
  return new SluiceError(
    "caller_unknown",
    presented
      ? "This caller token is not known here."
      : "A caller token is needed: send it as `Authorization: Bearer …` or `x-api-key`.",
  );
}

function forbiddenOrigin(): SluiceError {
  return new SluiceError(
    "forbidden_origin",
    "Without tokens this gateway serves programs on its own machine only, and this request comes from a web page or names another host. Set tokens, or name the page's origin in `cors.origins`.",
  );
}

function callersNotConfigured(how: (setting: string) => string): SluiceError {
  return new SluiceError(
    "callers_not_configured",
    `No caller is let in from outside this machine yet. Set SLUICE_TOKENS (callers.tokens)${how("SLUICE_TOKENS")}, or write \`callers: "public"\` to let everybody in.`,
    { facts: { set: "SLUICE_TOKENS" } },
  );
}

function adminTokenNeeded(): SluiceError {
  return new SluiceError("admin_only", "The operator's token is needed: send it as `Authorization: Bearer …`.");
}

function adminNotConfigured(how: (setting: string) => string): SluiceError {
  return new SluiceError(
    "admin_only",
    `This route is the operator's. From outside the gateway's machine it opens once SLUICE_ADMIN_TOKEN (admin.token) is set${how("SLUICE_ADMIN_TOKEN")}.`,
    { facts: { set: "SLUICE_ADMIN_TOKEN" } },
  );
}
