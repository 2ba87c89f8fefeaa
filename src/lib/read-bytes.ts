/**
 * A stream's bytes in one piece, or null as soon as they are more than `max`: the rest is not read. Rejects with the
 * stream's own error.
 */
export async function readBytes(
  stream: ReadableStream<Uint8Array>,
  max: number,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const reader = stream.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return join(chunks, size);
    size += value.byteLength;
    if (size > max) {
      // Whoever waits for the answer must not wait for a source that is slow to stop, nor fail because it cannot.
      reader.cancel().catch(() => undefined);
      return null;
    }
    chunks.push(value);
  }
}

function join(chunks: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return whole;
}
