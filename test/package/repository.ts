import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** Absolute path of the repository's root. */
export const root: string = resolve(import.meta.dirname, "../..");

export function readText(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

/** Paths, relative to the root, of every file that is or would be committed. Throws where git finds none. */
export function repositoryFiles(): string[] {
  const list = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  const files = [...new Set(list.split("\0"))].filter((path) => path !== "" && existsSync(join(root, path)));
  if (files.length === 0) throw new Error("git ls-files lists nothing: is this a clone?");
  return files.sort();
}
