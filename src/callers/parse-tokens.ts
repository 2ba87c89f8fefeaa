import { SluiceError } from "../errors.ts";
import { fingerprint } from "../lib/fingerprint.ts";

const MAX_LENGTH = 512;
/** How to make a good token, for messages. */
export const HOW = "Make one with `openssl rand -hex 24`.";

/**
 * The tokens of an option: a list, or one string split at commas (space around the commas is dropped).
 * Throws `config_invalid` for tokens that are empty, long, repeated or not of visible ASCII; the message names
 * the option, the token's place and its fingerprint, never the token.
 */
export function parseTokens(option: string, given: string | readonly string[]): readonly string[] {
  const tokens = typeof given === "string" ? given.split(",").map((token) => token.trim()) : given;
  if (tokens.length === 0) {
    throw new SluiceError("config_invalid", `${option} is an empty list. Leave it out, or list tokens. ${HOW}`);
  }
  const seen = new Map<string, number>();
  tokens.forEach((token, index) => {
    const fault = faultOf(token, seen);
    if (fault !== null) {
      const shown = token === "" ? "" : ` (fingerprint ${fingerprint(token)})`;
      throw new SluiceError("config_invalid", `${option}: token ${index + 1}${shown} ${fault}. ${HOW}`, {
        facts: { option, position: index + 1 },
      });
    }
    seen.set(token, index + 1);
  });
  return tokens;
}

function faultOf(token: string, seen: ReadonlyMap<string, number>): string | null {
  if (token === "") return "is empty";
  if (/\s/.test(token)) return "has white space in it";
  if (!/^[\x21-\x7e]+$/.test(token)) return "has characters that cannot stand in a header";
  if (token.length > MAX_LENGTH) return `has ${token.length} characters; ${MAX_LENGTH} are the most`;
  const earlier = seen.get(token);
  return earlier === undefined ? null : `is the same as token ${earlier}`;
}
