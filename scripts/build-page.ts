// Builds the dashboard's page for a checkout, into the folder where the server looks without a package. `npm run build`
// builds it into the package instead.
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { root, runTool } from "./run-tool.ts";

const FOLDER = join(root, "node_modules/.cache/punctual-dashboard");
const SOURCES = ["dashboard", "src/dashboard/api/contract", "package-lock.json"].map((path) =>
  join(root, path),
);

/** Builds the page unless it is newer than its sources. False if the build failed. */
export function buildPage(): boolean {
  const built = timeOf(join(FOLDER, "index.html"));
  return (
    built > Math.max(...SOURCES.map(newestIn)) || runTool("vite", "build", "dashboard", "--outDir", FOLDER)
  );
}

function newestIn(path: string): number {
  const entries = statSync(path).isDirectory()
    ? readdirSync(path, { recursive: true, encoding: "utf8" })
    : [];
  return Math.max(timeOf(path), ...entries.map((name) => timeOf(join(path, name))));
}

/** Milliseconds of the last change; 0 if the file is missing. */
function timeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

if (process.argv[1] === import.meta.filename && !buildPage()) process.exit(1);
