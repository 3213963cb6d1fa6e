import { DEFAULT_JOBS } from "../load/find-files.ts";
import type { Kind } from "./databases.ts";

export function configText(kind: Kind, pattern: string): string {
  const jobs = pattern === DEFAULT_JOBS ? "" : `  jobs: "${pattern}",\n`;
  return `import { defineConfig } from "punctual";

export default defineConfig({
  // Programs of your own read PUNCTUAL_DATABASE_URL; the command line reads this as well.
  database: process.env.PUNCTUAL_DATABASE_URL ?? "${kind.url}",
${jobs}});
`;
}

export function jobText(call: string): string {
  return `import { Job } from "punctual";

// Every ten seconds, and whenever it is asked for: ${call} dispatch hello --set name=you
export const hello = Job.schedule("hello", async ({ name = "world" }: { name?: string }) => {
  console.log(\`Hello, \${name}!\`);
}).everyTenSeconds();
`;
}

const SCRIPTS = { work: "punctual work", "jobs:status": "punctual status" };

export interface Package {
  type?: unknown;
  scripts?: Record<string, string>;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

/** With the scripts that are not there yet; null: nothing to change. */
export function packageText(before: string | null): string | null {
  if (before === null)
    return `${JSON.stringify({ private: true, type: "module", scripts: SCRIPTS }, null, 2)}\n`;
  const found = JSON.parse(before) as Package;
  const missing = Object.entries(SCRIPTS).filter(([name]) => !Object.hasOwn(found.scripts ?? {}, name));
  if (missing.length === 0) return null;
  const changed = { ...found, scripts: { ...found.scripts, ...Object.fromEntries(missing) } };
  const indent = /^[ \t]+(?=")/m.exec(before)?.[0] ?? "  ";
  return JSON.stringify(changed, null, indent) + (before.endsWith("\n") ? "\n" : "");
}
