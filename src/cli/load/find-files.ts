import { globSync, statSync } from "node:fs";
import { basename, join, relative, resolve, sep } from "node:path";

const ENDINGS = "{ts,mts,js,mjs}";
export const DEFAULT_JOBS: string = `jobs/**/*.${ENDINGS}`;

/** Whether a file in a folder of jobs is no job file: a test, a declaration file, or `_shared.ts`. */
const isBeside = (file: string) =>
  /^_|\.(test|spec)\.[cm]?[jt]s$|\.d\.[cm]?ts$/.test(basename(file)) ||
  file.split(sep).some((part) => part === "node_modules" || /^_./.test(part));

export interface FileMatches {
  files: string[];
  /** Patterns that match no file. */
  unmatched: string[];
}

/** Returns the job files without duplicates, sorted by name. A pattern that names a file exactly always matches. */
export function findFiles(patterns: readonly string[], cwd: string): FileMatches {
  const files = new Set<string>();
  const unmatched: string[] = [];
  for (const pattern of patterns) {
    const found = matching(pattern, cwd);
    if (found.length === 0) unmatched.push(pattern);
    for (const file of found) files.add(file);
  }
  return { files: [...files].sort(), unmatched };
}

function matching(pattern: string, cwd: string): string[] {
  const kind = statSync(resolve(cwd, pattern), { throwIfNoEntry: false });
  if (kind?.isFile()) return [resolve(cwd, pattern)];
  const glob = kind?.isDirectory() ? join(pattern, `**/*.${ENDINGS}`) : pattern;
  return globSync(glob, { cwd, exclude: (name) => basename(String(name)) === "node_modules" })
    .map((file) => resolve(cwd, file))
    .filter((file) => !isBeside(relative(cwd, file)) && statSync(file).isFile());
}

/** Returns the path relative to `cwd`; the full path for a file outside of it. */
export function nameOfFile(file: string, cwd: string = process.cwd()): string {
  const name = relative(cwd, file);
  return name === "" || name.startsWith("..") ? file : name;
}
