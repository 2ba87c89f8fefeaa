/**
 * Ends every key that is stored. A file's name then never is a folder's, so that `gas` and `gas:eth` both fit into a
 * driver of files; and what others keep in the same storage is told apart.
 */
const END = "~";
/** An empty word: unstorage would drop it. A lone percent sign is nothing that encoding makes. */
const EMPTY = "%";

/**
 * The key as unstorage takes it: it normalizes slashes, colons, question marks and dots, hides what ends in a dollar
 * sign, and drivers make paths of it. Words of letters and digits stay as they are. Throws URIError on half a surrogate
 * pair.
 */
export function toStorageKey(key: string): string {
  return toWords(key) + END;
}

/** Null when it is none of ours. */
export function fromStorageKey(stored: string): string | null {
  if (!stored.endsWith(END)) return null;
  try {
    return stored.slice(0, -END.length).split(":").map(decode).join(":");
  } catch {
    return null;
  }
}

/** The narrowest base below which all keys lie that begin with `prefix`. */
export function toStorageBase(prefix: string): string {
  const end = prefix.lastIndexOf(":");
  return end === -1 ? "" : toWords(prefix.slice(0, end));
}

const toWords = (key: string): string => key.split(":").map(encode).join(":");

function encode(word: string): string {
  if (word === "") return EMPTY;
  // Drivers of files refuse a word that ends in dots, since one of two dots leads upwards.
  return encodeURIComponent(word)
    .replaceAll(END, "%7E")
    .replace(/\.+$/, (dots) => "%2E".repeat(dots.length));
}

function decode(word: string): string {
  return word === EMPTY ? "" : decodeURIComponent(word);
}
