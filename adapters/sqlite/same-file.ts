import { statSync } from "node:fs";

/** How often the file is looked at, in milliseconds. */
const LOOK_EVERY_MS = 2_000;

/**
 * Tells whether `path` still is the file that was opened. A database whose file was removed or replaced goes on working
 * for the process that has it open, and shares nothing with anybody any more.
 */
export function sameFile(path: string): (now: number) => boolean {
  if (path === ":memory:") return () => true;
  const opened = inode(path);
  let lookedAt = -Infinity;
  let isSame = true;
  return (now) => {
    if (Math.abs(now - lookedAt) < LOOK_EVERY_MS) return isSame;
    lookedAt = now;
    isSame = inode(path) === opened;
    return isSame;
  };
}

function inode(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}
