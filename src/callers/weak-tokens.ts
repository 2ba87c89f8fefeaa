import { fingerprint } from "../lib/fingerprint.ts";
import type { AdminOption, CallersOption } from "./options.ts";
import { HOW, parseTokens } from "./parse-tokens.ts";

/** Shorter tokens can be guessed. */
const WEAK_BELOW = 16;

/** A warning for each token that can be guessed, by its fingerprint. They work all the same: the operator may have reasons. */
export function weakTokens(callers: CallersOption | undefined, admin: AdminOption | undefined): string[] {
  const given = callers === "public" ? undefined : callers?.tokens;
  const tokens = given === undefined ? [] : parseTokens("callers.tokens (SLUICE_TOKENS)", given);
  return [...tokens, ...(admin?.token === undefined ? [] : [admin.token])]
    .filter((token) => token.length < WEAK_BELOW)
    .map((token) => `The token with fingerprint ${fingerprint(token)} is short enough to be guessed. ${HOW}`);
}
