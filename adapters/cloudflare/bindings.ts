import { SluiceError } from "../../src/index.ts";
import type { LedgerNamespace } from "./durable-ledger.ts";
import type { KvBinding } from "../unstorage/index.ts";

export interface Bindings {
  readonly ledger: LedgerNamespace | null;
  readonly kv: KvBinding | null;
  /** What is missing, and the lines that add it. */
  readonly warnings: readonly string[];
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
    throw wrongKind("SLUICE_LEDGER", "a Durable Object", LEDGER_LINES);
  if (kv !== undefined && !has(kv, "list")) throw wrongKind("SLUICE_KV", "a KV namespace", KV_LINES);
  return {
    ledger: (ledger as LedgerNamespace | undefined) ?? null,
    kv: (kv as KvBinding | undefined) ?? null,
    warnings: ledger === undefined ? [withoutLedger(kv !== undefined)] : [],
  };
}

function withoutLedger(hasKv: boolean): string {
  const why = hasKv
    ? "SLUICE_KV alone cannot keep one truth (it has no compare-and-set and takes a minute to spread)"
    : "there is no SLUICE_LEDGER binding";
  return `${why}, so isolates know nothing of each other and spend slices: ${LEDGER_LINES}.`;
}

function has(value: unknown, method: string): boolean {
  return (
    typeof value === "object" && value !== null && typeof (value as Record<string, unknown>)[method] === "function"
  );
}

function wrongKind(name: string, kind: string, lines: string): SluiceError {
  return new SluiceError("config_invalid", `${name} is bound to something that is not ${kind}: ${lines}.`);
}
