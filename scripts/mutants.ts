// Plants every mutant of test/mutants, one by one, in a copy of the project, and prints those that no test kills.
// Words after the command choose mutants: `npm run mutants -- limits` plants those whose area, rule or
// file contains "limits".
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { allMutants, plant } from "../test/mutants/list.ts";
import type { Mutant } from "../test/mutants/mutant.ts";
import { copyProject } from "./copy-project.ts";
import { root } from "./run-tool.ts";

/** A mutant can make its tests wait for ever. */
const LONGEST = 5 * 60_000;

/** Runs tests in the copy. `tests` counts those that ran: a pattern that matches none must not pass for a survivor. */
function runTests(copy: string, { tests, only, stores }: Mutant): { passed: boolean; count: number } {
  const report = join(copy, "report.json");
  rmSync(report, { force: true });
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const pattern = only ? ["-t", only] : [];
  const reporter = ["--reporter=json", `--outputFile=${report}`, "--bail=1", "--retry=0"];
  const { status } = spawnSync(process.execPath, [vitest, "run", ...tests, ...pattern, ...reporter], {
    cwd: copy,
    timeout: LONGEST,
    killSignal: "SIGKILL",
    env: { ...process.env, ...(stores && { STORES: stores.join(",") }) },
  });
  try {
    const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, "utf8"));
    return { passed: status === 0, count: numPassedTests + numFailedTests };
  } catch {
    return { passed: false, count: 0 };
  }
}

function isKilled(copy: string, mutant: Mutant): boolean {
  const path = join(copy, mutant.file);
  const source = readFileSync(path, "utf8");
  writeFileSync(path, plant(source, mutant));
  try {
    return !runTests(copy, mutant).passed;
  } finally {
    writeFileSync(path, source);
  }
}

const words = process.argv.slice(2);
const all = await allMutants();
const chosen = all.filter(({ area, rule, file }) =>
  words.every((word) => `${area} ${rule} ${file}`.toLowerCase().includes(word.toLowerCase())),
);
const copy = copyProject();
const survivors: Mutant[] = [];
const unproven: Mutant[] = [];
/** Whether the tests pass without a mutant, by what is run. */
const sound = new Map<string, boolean>();
try {
  for (const mutant of chosen) {
    const key = JSON.stringify([mutant.tests, mutant.only, mutant.stores]);
    if (!sound.has(key)) {
      const { passed, count } = runTests(copy, mutant);
      sound.set(key, passed && count > 0);
    }
    const proven = sound.get(key)!;
    const killed = proven && isKilled(copy, mutant);
    if (!proven) unproven.push(mutant);
    else if (!killed) survivors.push(mutant);
    const verdict = proven ? (killed ? "killed  " : "SURVIVED") : "UNPROVEN";
    console.log(`${verdict}  ${mutant.file}: ${mutant.rule}`);
  }
} finally {
  rmSync(copy, { recursive: true, force: true });
}
if (unproven.length > 0)
  console.log(`\n${unproven.length} unproven: their tests fail, or do not run, without the mutant too.`);
console.log(
  `\n${chosen.length - survivors.length - unproven.length} of ${chosen.length} mutants were killed.`,
);
process.exit(survivors.length + unproven.length === 0 ? 0 : 1);
