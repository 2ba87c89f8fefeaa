/** A value of Deno KV may have 64 KiB: so many characters fit whatever they are … */
const TEXT_MAX = 30_000;
/** … and so many bytes with what they are wrapped in. */
const BYTES_MAX = 60_000;

/** One of the values that a longer one is stored in. */
export interface Piece {
  /** How many pieces there are. */
  readonly of: number;
  readonly data: string | Uint8Array;
}

/**
 * What is to be stored, as values of a size that Deno KV takes. A long text is compressed: an atomic operation writes
 * 800 KiB at most, and what a long outage leaves to settle may be more.
 */
export async function pack(value: unknown): Promise<readonly Piece[]> {
  const text = JSON.stringify(value);
  if (text.length <= TEXT_MAX) return [{ of: 1, data: text }];
  const bytes = await through(new CompressionStream("gzip"), new TextEncoder().encode(text));
  const of = Math.ceil(bytes.length / BYTES_MAX);
  return Array.from({ length: of }, (_, i) => ({ of, data: bytes.slice(i * BYTES_MAX, (i + 1) * BYTES_MAX) }));
}

/** What `pack` was given; undefined when these are not all of its pieces, or not pieces at all. */
export async function unpack(pieces: readonly unknown[]): Promise<unknown> {
  const [first] = pieces;
  if (!isPiece(first) || first.of !== pieces.length) return undefined;
  if (typeof first.data === "string") return JSON.parse(first.data) as unknown;
  const parts = pieces.map((piece) => (isPiece(piece) && piece.data instanceof Uint8Array ? piece.data : null));
  if (parts.includes(null)) return undefined;
  const blob = new Blob(parts as BlobPart[]);
  const bytes = await through(new DecompressionStream("gzip"), new Uint8Array(await blob.arrayBuffer()));
  return JSON.parse(new TextDecoder().decode(bytes)) as unknown;
}

function isPiece(value: unknown): value is Piece {
  return typeof value === "object" && value !== null && "of" in value && "data" in value;
}

async function through(
  coding: CompressionStream | DecompressionStream,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array> {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(coding)).arrayBuffer());
}
