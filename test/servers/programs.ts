import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** The full path of a program in one of the folders, or else on the PATH. */
export function findProgram(name: string, ...folders: string[]): string | undefined {
  // A user's PATH often lacks the folders of system programs.
  const path = [...folders, ...(process.env.PATH ?? "").split(delimiter), "/usr/local/sbin", "/usr/sbin"];
  return path.map((folder) => join(folder, name)).find((file) => existsSync(file));
}

/** The version that a program prints; null if it cannot be started. */
export function versionText(file: string, ...args: string[]): string {
  const { status, stdout } = spawnSync(file, [...args, "--version"], { encoding: "utf8", cwd: "/" });
  return status === 0 ? stdout : "";
}

/** The first dotted number in a text: 15.20 of "postgres (PostgreSQL) 15.20 (Debian …)". */
export function versionIn(text: string): string | undefined {
  return /\d+(\.\d+)+/.exec(text)?.[0];
}

export const isRoot = (): boolean => process.getuid?.() === 0;
