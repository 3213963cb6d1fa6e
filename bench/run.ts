// Measures Punctual beside its peers: `npm run bench`. Docs: docs/performance.md.
//   --quick             one short round of everything, without downloads
//   --only latency,idle these subjects
//   --contest rates     only these tables of the subjects, by their ids
//   --rounds 5          interleaved rounds of each contest (default 3)
//   --beside ../other   another checkout of Punctual, in which `npm run build` was run
//   --json results.json the figures of every round
//   --write             docs/performance.md and its charts
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { root, runTool } from "../scripts/run-tool.ts";
import { Bench, type Build } from "./lib/bench.ts";
import { type Contest, holdContest, type Result } from "./lib/contest.ts";
import { provisionAll } from "./lib/databases.ts";
import { type Options, readOptions } from "./lib/options.ts";
import { installPeers, isAnyInstalled } from "./lib/peers.ts";
import { type Figures, writeReport } from "./lib/report.ts";
import { plainTable } from "./lib/table.ts";

const namesIn = (folder: string) =>
  readdirSync(join(import.meta.dirname, folder))
    .filter((file) => file.endsWith(".ts"))
    .map((file) => basename(file, ".ts"));

/** Contests print a table each; studies are programs that print their own. */
const subjects = namesIn("subjects");
const studies = namesIn("studies");

function chosen({ only }: Options): string[] {
  const unknown = only.filter((name) => !subjects.includes(name) && !studies.includes(name));
  if (unknown.length > 0) {
    throw new Error(`--only takes ${[...subjects, ...studies].join(", ")}; not ${unknown.join(", ")}.`);
  }
  return only.length > 0 ? only : [...subjects, ...studies];
}

/** The package as it is published: stripping types at run time costs memory and time. */
function build(folder: string): string {
  cpSync(join(root, "package.json"), join(folder, "package.json"));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "junction");
  const built = join(folder, "dist");
  if (!runTool("tsc", "-p", "tsconfig.build.json", "--outDir", built)) throw new Error("The build failed.");
  return built;
}

async function measure(
  bench: Bench,
  names: string[],
  { rounds, ids }: { rounds: number; ids: string[] },
): Promise<Result[]> {
  const results: Result[] = [];
  for (const name of names) {
    const subject = (await import(`./subjects/${name}.ts`)) as { contests(bench: Bench): Promise<Contest[]> };
    for (const contest of await subject.contests(bench)) {
      if (ids.length > 0 && !ids.includes(contest.id)) continue;
      // A short round proves that everything runs, and no goal.
      const result = await holdContest(bench.quick ? { ...contest, goals: [] } : contest, rounds);
      console.log(plainTable(result));
      results.push(result);
    }
  }
  const missing = ids.filter((id) => !results.some((result) => result.id === id));
  if (missing.length > 0) throw new Error(`The subjects have no contest ${missing.join(", ")}.`);
  return results;
}

function runStudies(names: string[], quick: boolean, built: string): void {
  for (const name of names) {
    console.log(`\n${name}`);
    const args = [join(import.meta.dirname, "studies", `${name}.ts`), ...(quick ? ["--quick"] : [])];
    const env = { ...process.env, PUNCTUAL_BENCH_BUILT: built };
    if (spawnSync(process.execPath, args, { stdio: "inherit", env }).status !== 0) process.exitCode = 1;
  }
}

const options = readOptions();
const names = chosen(options);
if (!options.quick) {
  installPeers();
  provisionAll();
}
if (!isAnyInstalled()) console.log("The peers are not installed: Punctual is measured alone.");
const folder = mkdtempSync(join(tmpdir(), "punctual-bench-"));
const builds: Build[] = [{ label: "", folder: build(folder) }];
if (options.beside) {
  builds.push({ label: ` (${basename(resolve(options.beside))})`, folder: resolve(options.beside, "dist") });
}
const bench = new Bench(options.quick, builds);
const rounds = options.rounds ?? (options.quick ? 1 : 3);
try {
  const results = await measure(
    bench,
    names.filter((name) => subjects.includes(name)),
    { rounds, ids: options.contest },
  );
  const facts = {
    date: new Date().toISOString().slice(0, 10),
    machine: `${cpus().length} × ${cpus()[0]?.model.trim() ?? "unknown CPU"}`,
    software: [`Node ${process.versions.node}`, ...(await bench.describe())],
    rounds,
  };
  const figures = results.map((result): Figures => ({ ...facts, result }));
  if (options.json) writeFileSync(options.json, `${JSON.stringify(figures, null, 2)}\n`);
  if (options.write) writeReport(figures);
  await bench.databases.stop();
  runStudies(
    names.filter((name) => studies.includes(name)),
    options.quick,
    builds[0]!.folder,
  );
} finally {
  await bench.databases.stop();
  rmSync(folder, { recursive: true });
}
