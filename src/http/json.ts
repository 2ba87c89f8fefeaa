/** A JSON answer of the operations routes; they show live state, so nobody may cache them. */
export function json(value: unknown): Response {
  return new Response(JSON.stringify(value), {
    headers: { "content-type": "application/json", "cache-control": "no-store" },
  });
}
