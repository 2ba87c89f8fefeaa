import { SluiceError } from "../../src/index.ts";
import type { KvBinding } from "../unstorage/workers-kv.ts";
import type { LedgerNamespace } from "./durable-ledger.ts";

export interface Bindings {
  readonly ledger: LedgerNamespace | null;
  readonly kv: KvBinding | null;
  /** Without a ledger: why isolates spend slices, and the lines that change it. */
  readonly warning: string | null;
}

const LEDGER_LINES =
  'add to wrangler.jsonc `"durable_objects": { "bindings": [{ "name": "SLUICE_LEDGER", "class_name": "SluiceLedger" }] }, ' +
  '"migrations": [{ "tag": "sluice-1", "new_sqlite_classes": ["SluiceLedger"] }]` and to the Worker ' +
  '`export { SluiceLedger } from "sluice/cloudflare";`';
const KV_LINES = 'add to wrangler.jsonc `"kv_namespaces": [{ "binding": "SLUICE_KV" }]`';

/** The bindings among a Worker's environment. Throws `config_invalid` where a name is bound to something else. */
export function findBindings(env: object): Bindings {
  const { SLUICE_LEDGER: ledger, SLUICE_KV: kv } = env as Record<string, unknown>;
  if (ledger !== undefined && !has(ledger, "idFromName"))
    throw wrongKind("SLUICE_LEDGER", ledger, "a Durable Object's class", LEDGER_LINES);
  // An R2 bucket has the other methods too.
  if (kv !== undefined && !has(kv, "getWithMetadata")) throw wrongKind("SLUICE_KV", kv, "a KV namespace", KV_LINES);
  return {
    ledger: (ledger as LedgerNamespace | undefined) ?? null,
    kv: (kv as KvBinding | undefined) ?? null,
    warning: ledger === undefined ? withoutLedger(kv !== undefined) : null,
  };
}

const SIGNAL_FLAG = "enable_request_signal";

/** What the Worker's compatibility flags lack. */
export function flagWarnings(): string[] {
  const { Cloudflare } = globalThis as { Cloudflare?: { compatibilityFlags?: Readonly<Record<string, boolean>> } };
  if (Cloudflare?.compatibilityFlags?.[SIGNAL_FLAG] !== false) return [];
  return [
    `Callers that have left are not seen, and keep their places and slots: add to wrangler.jsonc \`"compatibility_flags": ["${SIGNAL_FLAG}"]\`.`,
  ];
}

function withoutLedger(hasKv: boolean): string {
  const why = hasKv
    ? "SLUICE_KV alone cannot keep one truth (it has no compare-and-set and takes a minute to spread)"
    : "There is no SLUICE_LEDGER binding";
  return `${why}, so isolates know nothing of each other and spend slices: ${LEDGER_LINES}.`;
}

/** A service binding seems to have every method there is. */
function has(value: unknown, method: string): boolean {
  return isFunction(value, method) && !isFunction(value, "noSuchMethod");
}

function isFunction(value: unknown, name: string): boolean {
  return typeof value === "object" && value !== null && typeof (value as Record<string, unknown>)[name] === "function";
}

function wrongKind(name: string, value: unknown, kind: string, lines: string): SluiceError {
  const todo =
    typeof value === "string"
      ? `is a text and must be ${kind}: take it out of "vars" (a secret: \`wrangler secret delete ${name}\`) and`
      : `is bound to something else and must be ${kind}: take that binding away and`;
  return new SluiceError("config_invalid", `${name} ${todo} ${lines}.`);
}
