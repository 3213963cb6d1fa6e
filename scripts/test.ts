// Everything that has to hold, in one command: types, lint and format, then every test. `--fast` leaves the slow ones out.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { runTool } from "./run-tool.ts";

const fast = process.argv.includes("--fast");
const SLOW = ["test/process/**", "test/conformance/scale*", "test/package/**"];

function step(name: string, passed: boolean): boolean {
  console.log(`${passed ? "ok    " : "FAILED"}  ${name}`);
  return passed;
}

function runTests(): { passed: number; failed: number } {
  const folder = mkdtempSync(join(tmpdir(), "punctual-test-"));
  const report = join(folder, "report.json");
  const leaveOut = fast ? SLOW.flatMap((pattern) => ["--exclude", pattern]) : [];
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const exitedWell = runTool("vitest", "run", ...reporters, ...leaveOut);
  try {
    const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, "utf8"));
    // A file that cannot even be loaded has no failed test of its own.
    const failed = exitedWell ? numFailedTests : Math.max(1, numFailedTests);
    return { passed: numPassedTests, failed };
  } catch {
    return { passed: 0, failed: 1 };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const checks = [
  step("types", runTool("tsc", "-p", "tsconfig.json")),
  step("lint and format", runTool("biome", "check", "--error-on-warnings", ".")),
];
const tests = runTests();
const passed = tests.passed + checks.filter(Boolean).length;
const failed = tests.failed + checks.filter((ok) => !ok).length;
const { version } = new DatabaseSync(":memory:").prepare("select sqlite_version() as version").get() as {
  version: string;
};
console.log(`\nDatabases: SQLite ${version} (node:sqlite, Node ${process.versions.node})`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
