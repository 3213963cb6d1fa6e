// Cost of thousands of scheduled definitions: to sync them, to find what is due among them, and in memory above bare
// Node. Measures the package as it is built, each time in a process of its own, by turns; figures of memory are
// medians. `--quick`: fewer definitions, one round.
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root, runTool } from "../../scripts/run-tool.ts";

const quick = process.argv.includes("--quick");
const COUNT = quick ? 500 : 5000;
const ROUNDS = quick ? 1 : 5;
const ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo"];

interface Measured {
  resident: number;
  syncJobs: number[];
  tick: number[];
}

const folder = mkdtempSync(join(tmpdir(), "punctual-bench-"));
// Without it Node would read every file twice to find out that it is a module.
cpSync(join(root, "package.json"), join(folder, "package.json"));
/** The benchmarks build the package once for all. */
const given = process.env.PUNCTUAL_BENCH_BUILT;
const built = given ?? join(folder, "dist");
let databases = 0;

function measure(count: number | null, zones: string[] = []): Measured {
  const database = join(folder, `${databases++}.db`);
  const args = count === null ? [] : [built, database, String(count), ...zones];
  const child = spawnSync(process.execPath, [join(import.meta.dirname, "resident.mjs"), ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  return JSON.parse(child.stdout) as Measured;
}

const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]!;

try {
  if (!given && !runTool("tsc", "-p", "tsconfig.build.json", "--outDir", built)) process.exit(1);
  const kinds: Record<string, () => Measured> = {
    "bare Node": () => measure(null),
    "Punctual at work": () => measure(0),
    [`${COUNT} definitions in UTC`]: () => measure(COUNT),
    [`${COUNT} in ${ZONES.length} time zones`]: () => measure(COUNT, ZONES),
  };
  const rounds = Array.from({ length: ROUNDS }, () => Object.values(kinds).map((run) => run()));
  const bare = median(rounds.map(([first]) => first!.resident));
  const rows = Object.keys(kinds).map((kind, index) => {
    const measured = rounds.map((round) => round[index]!);
    const resident = median(measured.map((one) => one.resident));
    const most = (values: number[]) => (values.length === 0 ? "" : `${Math.max(...values).toFixed(1)} ms`);
    const figures = {
      "resident MB": resident.toFixed(1),
      "above bare": (resident - bare).toFixed(1),
      "to show them, at most": most(measured.flatMap((one) => one.syncJobs)),
      "to find what is due, at most": most(measured.flatMap((one) => one.tick)),
    };
    return [kind, figures] as const;
  });
  console.table(Object.fromEntries(rows));
} finally {
  rmSync(folder, { recursive: true });
}
