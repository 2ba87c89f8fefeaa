/**
 * Twelve hex digits that stand for a secret wherever something is shown or stored.
 * Two rounds of 32-bit multiply-xor mixing: not a cryptographic hash, but 48 bits of a random key of 150 bits or more
 * cannot lead back to it; synchronous, because configuration is parsed synchronously on every runtime.
 */
export function fingerprint(secret: string): string {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let i = 0; i < secret.length; i++) {
    const code = secret.charCodeAt(i);
    high = Math.imul(high ^ code, 2654435761);
    low = Math.imul(low ^ code, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return (high >>> 0).toString(16).padStart(8, "0").slice(0, 6) + (low >>> 0).toString(16).padStart(8, "0").slice(0, 6);
}
