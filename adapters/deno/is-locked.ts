/** Whether Deno KV says that another process is writing to the file. */
export function isLocked(error: unknown): boolean {
  return error instanceof Error && error.message.includes("database is locked");
}
