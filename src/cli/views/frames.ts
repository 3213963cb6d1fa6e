import { relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { Failure } from "../../run/failure.ts";

/** A line of a stack trace. */
export interface Frame {
  text: string;
  /** Whether the line is in the project's own code, not in Node or a package. */
  isOwn: boolean;
}

const FRAME = /^\s*at /;

/** Returns the frames of a failure, those of the folder's own code first: the user can change that code. */
export function framesOf(failure: Failure, folder: string): Frame[] {
  const frames = (failure.stack ?? "")
    .split("\n")
    .filter((line) => FRAME.test(line))
    .map((line) => toFrame(line.trim(), folder));
  return [...frames.filter(({ isOwn }) => isOwn), ...frames.filter(({ isOwn }) => !isOwn)];
}

function toFrame(line: string, folder: string): Frame {
  const file = /\(?((?:file:\/\/|\/|[A-Za-z]:\\)[^()]*?):\d+(?::\d+)?\)?$/.exec(line)?.[1];
  if (file === undefined) return { text: line, isOwn: false };
  const path = toPath(file);
  const near = relative(folder, path);
  const isOwn = !near.startsWith("..") && near !== path && !near.split(sep).includes("node_modules");
  return { text: isOwn ? line.replace(file, () => near) : line.replace(file, () => path), isOwn };
}

function toPath(file: string): string {
  try {
    return file.startsWith("file:") ? fileURLToPath(file) : file;
  } catch {
    return file;
  }
}
