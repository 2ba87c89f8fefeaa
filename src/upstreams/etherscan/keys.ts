import { SluiceError } from "../../errors.ts";
import { fingerprint } from "../../lib/fingerprint.ts";

const PLACEHOLDER =
  /^(your|my|the)?[-_.]?(etherscan)?[-_.]?api[-_.]?key([-_.]?token)?(here)?$|^(x{3,}|\.{3}|changeme|todo)$/i;

/** The pool's keys in order. Throws `config_invalid`; no message holds a key. */
export function parseKeys(keys: string | readonly string[] | undefined): readonly string[] {
  const entries = splitEntries(keys, "keys");
  const positions = new Map<string, number>();
  entries.forEach((key, index) => {
    const fault = faultOf(key);
    if (fault !== null) {
      throw new SluiceError("config_invalid", `${nameOf(index, key)} ${fault}`);
    }
    const earlier = positions.get(key);
    if (earlier !== undefined) {
      throw new SluiceError(
        "config_invalid",
        `${nameOf(index, key)} is the same as keys[${earlier}]; write each key once.`,
      );
    }
    positions.set(key, index);
  });
  return entries;
}

/** A setting's entries: a string is split at commas and white space, and may end with a comma. */
export function splitEntries(value: unknown, option: string): readonly string[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.every((entry) => typeof entry === "string")) return value;
  if (typeof value !== "string") {
    throw new SluiceError(
      "config_invalid",
      `${option} is neither a string nor a list of strings; write "first,second".`,
    );
  }
  const text = value.trim().replace(/\s*,$/, "");
  return text === "" ? [] : text.split(/\s*,\s*|\s+/);
}

function nameOf(index: number, key: string): string {
  const shown = key === "" ? "" : `, fingerprint ${fingerprint(key)}`;
  return `keys[${index}] (ETHERSCAN_KEYS${shown})`;
}

function faultOf(key: string): string | null {
  if (key === "") return "is empty; remove the extra comma or write the key.";
  if (/["'`]/.test(key)) return "has quotes; write the key without them.";
  if (/\s/.test(key)) return "has white space; write one key an entry.";
  if (!/^[\x21-\x7e]+$/.test(key)) return "has a character that no key has; copy it again from the provider's page.";
  if (/^<.*>$/.test(key) || PLACEHOLDER.test(key)) return "is a placeholder; write a key from etherscan.io/myapikey.";
  return null;
}
