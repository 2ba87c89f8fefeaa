/** SQLite's result code of what a statement threw: `node:sqlite` has it as `errcode`, `bun:sqlite` as `errno`. */
export function errorCode(error: unknown): number | undefined {
  if (!(error instanceof Error && "code" in error && typeof error.code === "string")) return undefined;
  const { code, errcode, errno } = error as Error & { code: string; errcode?: unknown; errno?: unknown };
  const found = code === "ERR_SQLITE_ERROR" ? errcode : code.startsWith("SQLITE_") ? errno : undefined;
  return typeof found === "number" ? found : undefined;
}
