import { DEFAULT_JOBS } from "../../load/find-files.ts";
import type { DatabaseChoice } from "./databases.ts";

export function configText(database: DatabaseChoice, pattern: string): string {
  const jobs = pattern === DEFAULT_JOBS ? "" : `  jobs: "${pattern}",\n`;
  return `import { defineConfig } from "punctual";

export default defineConfig({
  // For the command line, and for Job and new Punctual() in your programs.
  // PUNCTUAL_DATABASE_URL overrides it.
  database: "${database.url}",
${jobs}});
`;
}

export function jobText(call: string): string {
  return `import { Job } from "punctual";

// Runs every ten seconds, and on demand: ${call} dispatch hello --set name=you
export const hello = Job.define("hello", async ({ name = "world" }: { name?: string }) => {
  console.log(\`Hello, \${name}!\`);
}).everyTenSeconds();
`;
}

/**
 * Scripts to add. A package manager runs a script in a shell, which ends on SIGTERM and leaves its command running:
 * `exec` replaces the shell by the worker.
 */
function scripts(canExec: boolean): Record<string, string> {
  return { work: canExec ? "exec punctual work" : "punctual work", "jobs:status": "punctual status" };
}

export interface Package {
  type?: unknown;
  scripts?: Record<string, string>;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

/** Returns package.json with the missing scripts added; null: nothing to change. */
export function packageText(before: string | null, canExec: boolean): string | null {
  const wanted = scripts(canExec);
  if (before === null)
    return `${JSON.stringify({ private: true, type: "module", scripts: wanted }, null, 2)}\n`;
  const found = JSON.parse(before) as Package;
  const missing = Object.entries(wanted).filter(([name]) => !Object.hasOwn(found.scripts ?? {}, name));
  if (missing.length === 0) return null;
  const changed = { ...found, scripts: { ...found.scripts, ...Object.fromEntries(missing) } };
  const indent = /^[ \t]+(?=")/m.exec(before)?.[0] ?? "  ";
  return JSON.stringify(changed, null, indent) + (before.endsWith("\n") ? "\n" : "");
}

/** Returns .gitignore with the line added; null: nothing to change. */
export function ignoreText(before: string | null, line: string): string | null {
  if (before === null) return `${line}\n`;
  if (before.split(/\r?\n/).some((one) => one.trim() === line)) return null;
  return `${before}${before === "" || before.endsWith("\n") ? "" : "\n"}${line}\n`;
}
