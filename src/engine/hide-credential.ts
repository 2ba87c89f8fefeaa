/** Shorter credentials are dummies for upstreams that want none, and would be found in any text. */
const SHORTEST = 16;

/**
 * An answer's body without the credential it was asked with: an upstream that repeats it in an error would hand it to the
 * caller. `text` is the body decoded. Returns the body itself, byte for byte, where there is nothing to hide.
 */
export function hideCredential(
  body: Uint8Array<ArrayBuffer>,
  text: string,
  target: { readonly id: string; readonly credential?: string },
): Uint8Array<ArrayBuffer> {
  const { id, credential } = target;
  if (credential === undefined || credential.length < SHORTEST || !text.includes(credential)) return body;
  return new TextEncoder().encode(text.replaceAll(credential, `[${id}]`));
}
