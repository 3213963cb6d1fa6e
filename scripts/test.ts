// Everything that has to hold, in one command: types, lint and format, then every test. `--fast` leaves the slow ones out.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { provisionChromium } from "../test/dashboard/support/chromium.ts";
import { provision } from "../test/servers/provision.ts";
import { label, type ServerKind, serverKinds } from "../test/servers/server.ts";
import { root, runTool } from "./run-tool.ts";

const fast = process.argv.includes("--fast");
const SLOW = [
  "test/process/**",
  "test/chaos/**",
  "test/faults/**",
  "test/package/**",
  "test/dashboard/browser/**",
  "test/servers/servers*",
];

function step(name: string, passed: boolean): boolean {
  console.log(`${passed ? "ok    " : "FAILED"}  ${name}`);
  return passed;
}

/** The servers without which the tests would not have shown enough. Others are used where they are found. */
function required(): ServerKind[] {
  const { STORES, PUNCTUAL_TEST_REQUIRE } = process.env;
  if (STORES) return serverKinds.filter((kind) => STORES.split(",").some((name) => name.trim() === kind));
  if (PUNCTUAL_TEST_REQUIRE === "all") return serverKinds;
  return fast ? [] : ["postgres", "mariadb"];
}

/** Installs missing servers, and the browser; returns a sentence for each program that cannot be installed. */
function provisionAll(): string[] {
  const programs = required().map((kind) => () => provision(kind));
  if (!fast) programs.push(provisionChromium);
  return programs.flatMap((install) => {
    try {
      install();
      return [];
    } catch (error) {
      return [(error as Error).message];
    }
  });
}

function runTests(): { passed: number; failed: number; used: string[] } {
  const folder = mkdtempSync(join(tmpdir(), "punctual-test-"));
  const report = join(folder, "report.json");
  const servers = join(folder, "servers.json");
  process.env.PUNCTUAL_TEST_USED = servers;
  if (fast) process.env.PUNCTUAL_TEST_FAST = "yes";
  const leaveOut = fast ? SLOW.flatMap((pattern) => ["--exclude", pattern]) : [];
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const exitedWell = runTool("vitest", "run", ...reporters, ...leaveOut);
  try {
    const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, "utf8"));
    // A file that cannot even be loaded has no failed test of its own.
    const failed = exitedWell ? numFailedTests : Math.max(1, numFailedTests);
    const used = existsSync(servers) ? JSON.parse(readFileSync(servers, "utf8")) : [];
    return { passed: numPassedTests, failed, used };
  } catch {
    return { passed: 0, failed: 1, used: [] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One short round of the benchmarks, so that they keep working; their figures say nothing. */
function runBenchmarks(): boolean {
  const args = [join(root, "bench/run.ts"), "--quick"];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
  if (status !== 0) console.log(`${stdout}${stderr}`);
  return status === 0;
}

const missing = provisionAll();
const early = [
  step("types", runTool("tsc", "-p", "tsconfig.json")),
  step("types of the dashboard's page", runTool("tsc", "-p", "dashboard/tsconfig.json")),
  step("lint and format", runTool("biome", "check", "--error-on-warnings", ".")),
];
const tests = runTests();
const isUsed = (kind: ServerKind) => tests.used.some((server) => server.startsWith(label[kind]));
const late = fast ? [] : [step("every benchmark runs", runBenchmarks())];
const checks = [
  ...early,
  ...late,
  step("every database that is needed was tested", required().every(isUsed)),
];
const passed = tests.passed + checks.filter(Boolean).length;
const failed = tests.failed + checks.filter((ok) => !ok).length;
const { version } = new DatabaseSync(":memory:").prepare("select sqlite_version() as version").get() as {
  version: string;
};
const sqlite = `SQLite ${version} (node:sqlite, Node ${process.versions.node})`;
const left = serverKinds.filter((kind) => !isUsed(kind)).map((kind) => label[kind]);
console.log(
  `\nDatabases: ${[sqlite, ...tests.used].join(", ")}${left.length ? `; without ${left.join(", ")}` : ""}`,
);
for (const sentence of missing) console.log(sentence);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
