import { SluiceError } from "../errors.ts";
import { fingerprint } from "../lib/fingerprint.ts";
import type { BucketTerms } from "../ports/ledger.ts";
import type { UpstreamDefinition } from "./definition.ts";
import type { Protocol } from "./protocol.ts";
import type { Target } from "./target.ts";

type Derived = "protocol" | "targets" | "terms" | "missing" | "secrets";

/** A pool of keys for a protocol of one's own. What is left out is as in the kit's own pools. */
export interface UpstreamOptions extends Partial<Omit<UpstreamDefinition, Derived>> {
  /** The setting that holds the keys (`WEATHER_KEYS`), for messages. */
  readonly setting: string;
  /** A string is split at commas and white space. None: the upstream is off, and says which setting is missing. */
  readonly keys: string | readonly string[] | undefined;
  readonly baseUrl: string;
  /** So many calls (or cost units) the API takes of one key … */
  readonly calls: number;
  /** … in so many milliseconds, however they are laid. */
  readonly perMs: number;
  /** By how much longer one call may be on its way than another, in milliseconds. Default 75. */
  readonly jitterMs?: number;
  /** Calls of one key per UTC day. Default null: no such quota. */
  readonly dailyStop?: number | null;
}

/**
 * An upstream from a protocol and keys, each key counted by itself.
 *
 * @example
 * ```ts
 * import { defineProtocol, defineUpstream } from "@sluice/sluice";
 *
 * const weather = defineProtocol<{ city: string }, object>({
 *   name: "weather",
 *   routes: [{ methods: ["GET"], path: "/today", parse: ({ url }) => ({ city: url.searchParams.get("city") ?? "" }) }],
 *   attach: ({ city }, { baseUrl, credential = "" }) =>
 *     new Request(`${baseUrl}/today?city=${encodeURIComponent(city)}`, { headers: { "x-api-key": credential } }),
 *   weigh: () => 1,
 *   needs: () => [],
 *   facts: () => ({}),
 *   judge: ({ status }) =>
 *     status === 200
 *       ? { class: "ok", scope: "request", reason: "data" }
 *       : { class: "network", scope: "key", reason: "no_answer" },
 *   refuse: (error) => Response.json({ error: error.message }, { status: error.status }),
 *   face: () => ({}),
 * });
 * const pool = defineUpstream(weather, {
 *   setting: "WEATHER_KEYS",
 *   keys: "key1,key2",
 *   baseUrl: "https://weather.example",
 *   calls: 5,
 *   perMs: 10_000,
 * });
 * console.assert(pool.targets.length === 2 && pool.terms.limit === 0.5);
 * ```
 * Throws `config_invalid`; no message holds a key.
 */
export function defineUpstream<Call, Face extends object>(
  protocol: Protocol<Call, Face>,
  options: UpstreamOptions,
): UpstreamDefinition<Call, Face> {
  const { setting, keys, baseUrl, calls, perMs, jitterMs, dailyStop, ...rest } = options;
  const secrets = parseKeys(setting, keys);
  return {
    strategy: "healthiest",
    maxAttempts: 3,
    maxWaitMs: 10_000,
    maxQueue: 1_000,
    timeoutMs: 30_000,
    maxResponseBytes: 32 * 1024 * 1024,
    warnings: [],
    groupSetting: (positions) => `${setting}: keys ${positions.join(", ")} are one account's, so keep one of them`,
    ...rest,
    protocol,
    targets: secrets.map((credential, i) => toTarget(credential, i + 1, parseBaseUrl(baseUrl))),
    terms: termsOf(calls, perMs, jitterMs ?? 75, dailyStop ?? null),
    missing: secrets.length === 0 ? setting : null,
    secrets,
  };
}

function toTarget(credential: string, position: number, baseUrl: string): Target {
  const id = fingerprint(credential);
  return { id, bucket: id, baseUrl, credential, priority: position, position };
}

function parseKeys(setting: string, keys: string | readonly string[] | undefined): readonly string[] {
  const entries = typeof keys === "string" ? keys.split(/[\s,]+/).filter((key) => key !== "") : (keys ?? []);
  for (const [i, key] of entries.entries()) {
    if (key === "") throw invalid(setting, `key ${i + 1} is empty; write it, or take it out`);
    const earlier = entries.indexOf(key);
    if (earlier < i) throw invalid(setting, `keys ${earlier + 1} and ${i + 1} are the same; write each key once`);
  }
  return entries;
}

function parseBaseUrl(text: string): string {
  if (!URL.canParse(text)) throw invalid("baseUrl", 'is not a URL; write it as "https://api.example"');
  const { protocol, username, password } = new URL(text);
  if (!/^https?:$/.test(protocol)) throw invalid("baseUrl", 'is neither http nor https; write "https://api.example"');
  if (username + password !== "") throw invalid("baseUrl", "has a user or password in it; write it without");
  return text.replace(/\/+$/, "");
}

function termsOf(calls: number, perMs: number, jitterMs: number, dailyStop: number | null): BucketTerms {
  const isAbove = (value: number, least: number): boolean => Number.isFinite(value) && value >= least;
  if (!(isAbove(calls, 0) && calls > 0)) throw invalid("calls", "must be a number above 0");
  if (!isAbove(perMs, 1)) throw invalid("perMs", "must be at least 1 millisecond");
  if (!isAbove(jitterMs, 0)) throw invalid("jitterMs", "must be 0 or more milliseconds");
  if (dailyStop !== null && !isAbove(dailyStop, 1)) throw invalid("dailyStop", "must be null or 1 and more");
  return { limit: (calls * 1_000) / perMs, windowMs: perMs, jitterMs, dailyStop, dailyPacing: false };
}

function invalid(option: string, what: string): SluiceError {
  return new SluiceError("config_invalid", `${option}: ${what}.`);
}
