import type { Command } from "commander";
import type { Punctual } from "../../punctual.ts";
import { type Invariant, invariants } from "../../store/invariants.ts";
import type { Duration } from "../../time.ts";
import type { Cli } from "../cli.ts";
import { duration, integer } from "../input/arguments.ts";
import { openExisting } from "../load/database.ts";
import { Exit, exitCodes } from "../output/exit-codes.ts";
import { counted } from "../render/formats.ts";
import { error, type Finding, ok, printFinding } from "../views/finding.ts";

interface Options {
  most?: number;
  wait?: Duration;
}

export default function verify(command: Command, cli: Cli): void {
  command
    .description(
      "Check the invariants of the tables: each run in one place, no limit exceeded, no lease forgotten. Reads only.",
    )
    .option("--most <n>", "rows to read of each table (default: 1000000)", integer(1))
    .option(
      "--wait <duration>",
      "time between the two checks that must both find a violation (default: 2s)",
      duration,
    )
    .action(async (options: Options) => {
      const jobs = await openExisting(cli);
      const report = await jobs.verify(options);
      const missing = await missingObjects(jobs);
      const { violations, runs, complete } = report;
      const { output } = cli;
      if (output.isJson) output.json({ ...report, missing });
      else {
        const findings = [
          ...missing.map((name) => error(`${name} is missing`, "punctual doctor")),
          ...Object.entries(invariants).flatMap(([name, rule]) => {
            const broken = violations.filter(({ invariant }) => invariant === (name as Invariant));
            return broken.length === 0 ? [ok(rule)] : broken.map(({ message }): Finding => error(message));
          }),
        ];
        for (const finding of findings) printFinding(cli, finding);
        if (!complete) output.note("Not every row was read: allow more with --most.");
        output.note(`${counted(violations.length, "violation")} in ${counted(runs, "unfinished run")}.`);
      }
      if (violations.length + missing.length > 0) throw new Exit(exitCodes.failed);
    });
}

async function missingObjects(jobs: Punctual): Promise<string[]> {
  return (await jobs.inspect()).missing.map(({ name }) => name);
}
