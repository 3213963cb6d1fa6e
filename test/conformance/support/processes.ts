import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export function scriptPath(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

/** Runs a script of this folder in a process of its own; gives what it wrote. */
export async function runScript(name: string, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [scriptPath(name), ...args], {
    maxBuffer: 2 ** 28,
  });
  return stdout;
}
