import { fingerprint } from "../lib/fingerprint.ts";

const MAX_PRESENTED_LENGTH = 512;

export interface TokenSet {
  /**
   * Whether the presented token is one of the set. At once (no promise) when it has been seen to be valid before.
   * Takes equally long whichever token is presented and however much of it is right.
   */
  has(presented: string): boolean | Promise<boolean>;
}

/**
 * A set of tokens that keeps their SHA-256, and of the tokens themselves only those that were presented and right:
 * an awaited digest costs more than all the rest of a caller check.
 *
 * The digests are made on the first request, not here, because some runtimes forbid it while a module loads; and each
 * request that comes before they are ready makes its own, because on Workers a promise of a cancelled request never
 * settles and everybody who waits for it hangs.
 *
 * @param tokens Validated (`parseTokens`).
 * @param remember How many right tokens are kept for the quick path; the oldest goes first.
 */
export function createTokenSet(tokens: readonly string[], remember = 1024): TokenSet {
  let raw: readonly string[] = tokens;
  let digests: readonly Uint8Array[] | null = null;
  // By fingerprint, which is no secret: the time of the look-up tells nothing about a token.
  const known = new Map<string, Uint8Array>();
  const encoder = new TextEncoder();

  const digest = async (token: Uint8Array<ArrayBuffer>): Promise<Uint8Array> =>
    new Uint8Array(await crypto.subtle.digest("SHA-256", token));

  const verify = async (presented: Uint8Array<ArrayBuffer>, key: string): Promise<boolean> => {
    if (digests === null) {
      const made = await Promise.all(raw.map((token) => digest(encoder.encode(token))));
      digests = made;
      raw = [];
    }
    const theirs = await digest(presented);
    let right = false;
    for (const ours of digests) right = isEqual(ours, theirs) || right;
    if (right) {
      if (known.size >= remember) {
        const oldest = known.keys().next();
        if (!oldest.done) known.delete(oldest.value);
      }
      known.set(key, presented);
    }
    return right;
  };

  return {
    has(presented) {
      if (presented === "" || presented.length > MAX_PRESENTED_LENGTH) return false;
      const key = fingerprint(presented);
      const bytes = encoder.encode(presented);
      const remembered = known.get(key);
      if (remembered !== undefined && isEqual(remembered, bytes)) return true;
      return verify(bytes, key);
    },
  };
}

/** In constant time for inputs of one length. */
function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= (a[i] ?? 0) ^ (b[i] ?? 0);
  return difference === 0;
}
