// Everything that has to hold, in one command: types, lint and format, then every test. `--fast` leaves the slow ones
// out.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { provisionChromium } from "../test/dashboard/support/chromium.ts";
import { provision } from "../test/servers/provision.ts";
import { label, type ServerKind, serverKinds } from "../test/servers/server.ts";
import { root, runTool } from "./run-tool.ts";

const fast = process.argv.includes("--fast");
const SLOW = [
  "test/process/**",
  "test/chaos/**",
  "test/campaign/**",
  "test/faults/**",
  "test/package/**",
  "test/dashboard/browser/**",
  "test/servers/servers*",
];

/** Its fleets use every core for minutes: no other test runs meanwhile. */
const CAMPAIGNS = "test/campaign/campaign.test.ts";

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

interface FileReport {
  name: string;
  startTime: number;
  endTime: number;
}

/** Files that take longer than this many seconds are listed, the longest first: they decide how long all tests take. */
const LONG = 60;

function printLongest(files: FileReport[]): void {
  const taken = files
    .map(({ name, startTime, endTime }) => ({ name, seconds: Math.round((endTime - startTime) / 1000) }))
    .filter(({ seconds }) => seconds > LONG)
    .sort((a, b) => b.seconds - a.seconds);
  for (const { name, seconds } of taken)
    console.log(`${String(seconds).padStart(5)} s  ${relative(root, name)}`);
}

/** Lines of each failed test that the summary at the end repeats. */
const REPEATED = 25;

interface Failure {
  file: string;
  /** Null: the tests of the file could not start. */
  test: string | null;
  /** Shortened. */
  message: string;
}

interface TestRun {
  passed: number;
  failed: number;
  failures: Failure[];
}

/** Runs tests, and reads the report that they leave in the folder. */
function runVitest(folder: string, ...args: string[]): TestRun {
  const report = join(folder, "report.json");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const exitedWell = runTool("vitest", "run", ...reporters, ...args);
  try {
    const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(report, "utf8"));
    printLongest(testResults);
    // A file that cannot even be loaded has no failed test of its own.
    const failed = exitedWell ? numFailedTests : Math.max(1, numFailedTests);
    return { passed: numPassedTests, failed, failures: failuresIn(testResults) };
  } catch (error) {
    const failure = { file: args.join(" "), test: null, message: `vitest left no report: ${error}` };
    return { passed: 0, failed: 1, failures: [failure] };
  } finally {
    rmSync(report, { force: true });
  }
}

interface FileResult {
  name: string;
  message: string;
  assertionResults: { status: string; fullName: string; failureMessages: string[] }[];
}

function failuresIn(files: FileResult[]): Failure[] {
  const shorten = (text: string) => text.split("\n").slice(0, REPEATED).join("\n");
  return files.flatMap(({ name, message, assertionResults }) => {
    const file = relative(root, name);
    const failed = assertionResults.filter(({ status }) => status === "failed");
    return [
      ...(message ? [{ file, test: null, message: shorten(message) }] : []),
      ...failed.map((one) => ({
        file,
        test: one.fullName,
        message: shorten(one.failureMessages.join("\n")),
      })),
    ];
  });
}

/** A pattern for exactly this test. The report joins the titles of a test by spaces, the filter by " > ". */
function patternOf(name: string): string {
  return `^${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(" ", "( > | )")}$`;
}

/** More failed tests than this are no coincidence, and are not repeated. */
const FEW = 5;

/**
 * Runs failed tests once more, with nothing beside them, and whole files whose tests could not start. Some tests wait
 * for real servers, processes and browsers, and may fail on a machine that is too busy. What passes now is unstable: it
 * is reported as such, and does not fail the whole.
 */
function repeatFailed(folder: string, tests: TestRun): TestRun & { unstable: Failure[] } {
  if (tests.failures.length === 0 || tests.failures.length > FEW) return { ...tests, unstable: [] };
  const repeated = tests.failures.map((failure) => ({ failure, again: repeat(folder, failure) }));
  const isStable = ({ again }: (typeof repeated)[number]) => again.failed > 0 || again.passed === 0;
  return {
    passed: tests.passed + repeated.reduce((sum, { again }) => sum + again.passed, 0),
    failed: repeated.filter(isStable).length,
    failures: repeated.filter(isStable).map(({ failure }) => failure),
    unstable: repeated.filter((one) => !isStable(one)).map(({ failure }) => failure),
  };
}

function repeat(folder: string, { file, test }: Failure): TestRun {
  return runVitest(folder, file, "--maxWorkers=1", ...(test === null ? [] : ["-t", patternOf(test)]));
}

function runTests(folder: string): ReturnType<typeof repeatFailed> & { used: string[] } {
  const servers = join(folder, "servers.json");
  process.env.PUNCTUAL_TEST_USED = servers;
  if (fast) process.env.PUNCTUAL_TEST_FAST = "yes";
  process.env.PUNCTUAL_TEST_LEAVE_OUT = (fast ? SLOW : [CAMPAIGNS]).join(",");
  const tests = runVitest(folder);
  delete process.env.PUNCTUAL_TEST_LEAVE_OUT;
  // Only these tests share servers.
  delete process.env.PUNCTUAL_TEST_USED;
  const used = existsSync(servers) ? JSON.parse(readFileSync(servers, "utf8")) : [];
  return { ...repeatFailed(folder, tests), used };
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
const folder = mkdtempSync(join(tmpdir(), "punctual-test-"));
const tests = runTests(folder);
const isUsed = (kind: ServerKind) => tests.used.some((server) => server.startsWith(label[kind]));
const campaigns = fast ? null : runVitest(folder, CAMPAIGNS);
rmSync(folder, { recursive: true, force: true });
const late = campaigns
  ? [
      step("a campaign on every database", campaigns.failed === 0),
      step("every benchmark runs", runBenchmarks()),
    ]
  : [];
const checks = [
  ...early,
  ...late,
  step("every database that is needed was tested", required().every(isUsed)),
  // Otherwise tests that lack a program would be left out unnoticed.
  ...(process.env.PUNCTUAL_TEST_REQUIRE === "all"
    ? [step("every program that tests need is here", missing.length === 0)]
    : []),
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
// Once more at the end: often only the end of the output is kept.
const print = (verdict: string, { file, test, message }: Failure) =>
  console.log(`\n${verdict}  ${[file, test].filter(Boolean).join(": ")}\n${message}`);
for (const failure of tests.unstable) print("UNSTABLE", failure);
for (const failure of [...tests.failures, ...(campaigns?.failures ?? [])]) print("FAILED", failure);
const unstable = tests.unstable.length > 0 ? `, ${tests.unstable.length} unstable` : "";
console.log(`${passed} passed, ${failed} failed${unstable}`);
process.exit(failed === 0 ? 0 : 1);
