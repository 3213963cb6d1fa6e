import type { Command } from "commander";
import type { Punctual } from "../../../punctual.ts";
import type { Cli } from "../../cli.ts";
import { confirm } from "../../input/ask.ts";
import { Exit, exitCodes } from "../../output/exit-codes.ts";
import { plain } from "../../output/output.ts";
import { counted } from "../../render/formats.ts";
import { type Finding, printFinding } from "../../views/finding.ts";
import { database } from "./database.ts";
import { health } from "./health.ts";
import { messageOf, setUp } from "./setup.ts";

interface Options {
  check?: boolean;
  fix?: boolean;
}

export default function doctor(command: Command, cli: Cli): void {
  command
    .description("Find problems of the set-up and the database, and suggest fixes.")
    .option("--check", `print only problems, and exit ${exitCodes.unhealthy} for warnings too`)
    .option("--fix", "apply the safe fixes, then check again")
    .action(async ({ check = false, fix: fixes = false }: Options) => {
      let { findings, jobs } = await examine(cli);
      const fixed = (fixes && jobs && (await fix(cli, jobs, findings))) || [];
      if (fixed.length > 0) ({ findings, jobs } = await examine(cli));
      printFindings(cli, findings, { check, fixed: fixes ? fixed : null });
      end(findings, check);
    });
}

/** Runs all checks. The instance is null if the config cannot be read and nothing else names the database. */
async function examine(cli: Cli): Promise<{ findings: Finding[]; jobs: Punctual | null }> {
  const findings = await setUp(cli.sources, cli.globals);
  if (findings.some(({ level }) => level === "error") && !(await cli.database().catch(() => null))) {
    return { findings, jobs: null };
  }
  const jobs = await (cli.sources ? loadedOr(cli) : cli.open());
  const result = await database(jobs, await cli.database());
  findings.push(...result.findings);
  if (result.usable) findings.push(...(await health(jobs, result.inspection!, await cli.config())));
  return { findings, jobs };
}

/** Returns the instance of the job files; if they cannot be loaded, one that can still check the database. */
async function loadedOr(cli: Cli) {
  const loaded = await cli.sources!.loadJobFiles().catch(() => null);
  return loaded?.jobs ?? cli.open();
}

function printFindings(
  cli: Cli,
  findings: Finding[],
  { check, fixed }: { check: boolean; fixed: string[] | null },
): void {
  const { output } = cli;
  const printed = check ? findings.filter(({ level }) => level !== "ok") : findings;
  const [errors, warnings] = [count(findings, "error"), count(findings, "warning")];
  if (output.isJson) {
    const checks = printed.map(({ level, text, cure = null }) => ({ level, text, cure }));
    output.json({ ...(fixed && { fixed }), checks, errors, warnings });
    return;
  }
  for (const text of fixed ?? []) output.print(`fixed: ${plain(text)}`);
  for (const finding of printed) printFinding(cli, finding);
  const all = `${counted(errors, "error")}, ${counted(warnings, "warning")}`;
  output.note(errors + warnings === 0 ? "No problems found." : all);
}

function end(findings: Finding[], check: boolean): void {
  const codes = findings.flatMap(({ level, exit }) =>
    level === "error" ? [exit ?? exitCodes.unhealthy] : [],
  );
  // The code of the error that causes the others.
  const first = [exitCodes.notLoaded, exitCodes.database].find((code) => codes.includes(code)) ?? codes[0];
  if (first !== undefined) throw new Exit(first);
  if (check && count(findings, "warning") > 0) throw new Exit(exitCodes.unhealthy);
}

function count(findings: Finding[], level: Finding["level"]): number {
  return findings.filter((one) => one.level === level).length;
}

/** Asks, then applies the safe fixes; returns them as sentences, or null if there are none. */
export async function fix(cli: Cli, jobs: Punctual, findings: Finding[]): Promise<string[] | null> {
  const fixes = findings.flatMap((finding) => finding.fix ?? []).join(", ");
  if (fixes === "") return null;
  await confirm(cli, `${fixes[0]!.toUpperCase()}${fixes.slice(1)}?`);
  const complain = (what: string) => cli.output.complain(`punctual: ${plain(what)}`);
  try {
    const { installed, made, failed, reaped, workers } = await jobs.repair();
    for (const { name, message } of failed) complain(`${name} could not be created: ${message}`);
    const { from, to } = installed;
    return [
      ...(from === to ? [] : [`installed schema ${to}`]),
      ...made.map((name) => `created ${name}`),
      ...(reaped === 0 ? [] : [`reaped ${counted(reaped, "run")} of dead workers`]),
      ...(workers === 0 ? [] : [`deleted ${counted(workers, "row")} of dead workers`]),
    ];
  } catch (fault) {
    // The checks that follow report it again, with the fix.
    complain(messageOf(fault));
    return [];
  }
}
