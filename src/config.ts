import * as v from "valibot";
import type { AdminOption, CallersOption } from "./callers/options.ts";
import type { UpstreamDefinition } from "./engine/definition.ts";
import { SluiceError } from "./errors.ts";
import type { CorsOption } from "./http/cors.ts";
import type { HandlerLimits } from "./http/limits.ts";
import { fingerprint } from "./lib/fingerprint.ts";

export type Upstreams = Readonly<Record<string, UpstreamDefinition>>;

/** What a user writes: upstreams by name, who may call, who may operate. */
export interface SluiceConfig<U extends Upstreams = Upstreams> {
  /** The name is the first part of the upstream's routes: lower-case letters, digits and dashes. */
  readonly upstreams: U;
  /** Left out: only this machine may call. */
  readonly callers?: CallersOption | undefined;
  /** Left out: only this machine may look at `/-/stats` and the like. */
  readonly admin?: AdminOption | undefined;
  /** Left out: no web page may read answers. */
  readonly cors?: CorsOption | undefined;
  readonly limits?: Partial<HandlerLimits> | undefined;
  /** What stands before every route when a mount keeps its prefix (`/upstream`). */
  readonly basePath?: string | undefined;
}

/** Environment variables, as every runtime can give them. */
export type Env = Readonly<Record<string, string | undefined>>;

/** A configuration for a runtime's environment. */
export type SluiceFactory<U extends Upstreams = Upstreams> = (env: Env) => SluiceConfig<U>;

/**
 * Types a configuration; the same file serves every platform.
 *
 * @example
 * ```ts
 * import { defineSluice, etherscan } from "@sluice/sluice";
 *
 * export default defineSluice((env) => ({
 *   upstreams: { etherscan: etherscan({ keys: env.ETHERSCAN_KEYS }) },
 *   callers: { tokens: env.SLUICE_TOKENS },
 * }));
 * ```
 */
export function defineSluice<U extends Upstreams>(factory: SluiceFactory<U>): SluiceFactory<U> {
  return factory;
}

/** The first parts of paths that are the kit's own. */
const RESERVED = ["-", "rpc", "rpcs", "gas"];

const name = v.pipe(
  v.string(),
  v.regex(/^[a-z][a-z0-9-]*$/, 'must be lower-case letters, digits and dashes, such as "etherscan"'),
  v.notValues(RESERVED, `is the gateway's own; any name but ${RESERVED.join(", ")} will do`),
);
const definition = v.custom<UpstreamDefinition>(
  (value) => typeof value === "object" && value !== null && "protocol" in value && "terms" in value,
  "must come from a protocol, such as etherscan({ keys })",
);
const positive = v.pipe(v.number(), v.integer(), v.minValue(1, "must be a whole number above 0"));
const origin = v.pipe(v.string(), v.regex(/^https?:\/\/[^/]+$/, 'must be an origin such as "https://app.example"'));
const schema = v.strictObject({
  upstreams: v.record(name, definition, "must be upstreams by name, such as { etherscan: etherscan({ keys }) }"),
  callers: v.optional(
    v.union(
      [v.literal("public"), v.strictObject({ tokens: v.optional(v.union([v.string(), v.array(v.string())])) })],
      'must be { tokens } or "public"',
    ),
  ),
  admin: v.optional(v.strictObject({ token: v.optional(v.string()) })),
  cors: v.optional(v.strictObject({ origins: v.union([v.literal("*"), v.array(origin)]) })),
  limits: v.optional(
    v.partial(v.strictObject({ maxRequestBytes: positive, maxUrlBytes: positive, maxEventStreams: positive })),
  ),
  basePath: v.optional(v.string()),
});

/** Checks a configuration; throws `config_invalid` that names the option and what to write instead. */
export function parseConfig<U extends Upstreams>(config: SluiceConfig<U>): SluiceConfig<U> {
  if (config instanceof Promise) {
    throw new SluiceError("config_invalid", "configuration: must be there at once, and this is a promise of it.");
  }
  const result = v.safeParse(schema, config);
  if (result.success) return config;
  const issue = result.issues[0];
  const option = v.getDotPath(issue) ?? "configuration";
  // Never valibot's own text for values: it repeats what it received, which may be a secret.
  const message = /^(must|is the)/.test(issue.message) ? issue.message : `must be ${expected(issue.expected)}`;
  throw new SluiceError("config_invalid", `${option}: ${message}.`);
}

/** Valibot expects `never` where there is an option too many, and the option's own name where there is one too few. */
function expected(kind: string | null): string {
  if (kind === null || kind === "never") return "left out";
  return kind.startsWith('"') ? "given" : kind;
}

/** Longer text in a number's place may be a secret that slipped into the wrong setting. */
const LONGEST_SHOWN = 12;

/** `value` as a whole number, for settings that come as text; throws `config_invalid` naming `option`. */
export function parseWholeNumber(option: string, value: string, min: number, max: number): number {
  const number = /^\d+$/.test(value.trim()) ? Number(value) : NaN;
  if (number >= min && number <= max) return number;
  const shown = value.length <= LONGEST_SHOWN ? `"${value}"` : `text (fingerprint ${fingerprint(value)})`;
  throw new SluiceError("config_invalid", `${option}: ${shown} is no whole number from ${min} to ${max}.`);
}

/** Every secret that a configuration names: upstream credentials, caller tokens, the operator's token. */
export function secretsOf({ upstreams, callers, admin }: SluiceConfig): string[] {
  const tokens = callers === undefined || callers === "public" ? [] : [callers.tokens ?? []].flat();
  return [
    ...Object.values(upstreams).flatMap((upstream) => upstream.secrets),
    ...tokens.flatMap((token) => token.split(",")).map((token) => token.trim()),
    ...(admin?.token === undefined ? [] : [admin.token]),
  ].filter((secret) => secret !== "");
}
