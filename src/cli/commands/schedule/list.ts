import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { name } from "../../input/arguments.ts";
import { openExisting } from "../../load/database.ts";
import { pageOf } from "../../render/page.ts";
import { selectColumns, table } from "../../render/table.ts";
import { scheduleColumns, type TickingSchedule } from "../../views/schedule-columns.ts";
import { inEnvironment } from "./environment.ts";
import { scheduleViews } from "./schedule-info.ts";

interface Options {
  next?: boolean;
  late?: boolean;
  environment?: string;
}

export function addList(command: Command, cli: Cli): void {
  command
    .summary("list every schedule, with its last and next tick")
    .description("List every schedule, with its last and next tick and its number of missed ticks.")
    .option("--next", "sort by the next tick, soonest first")
    .option("--late", "only schedules whose tick is overdue")
    .option(
      "--environment <name>",
      "schedules of the job files that tick in this environment (PUNCTUAL_ENV)",
      name("an environment"),
    )
    .action(async ({ next, late, environment }: Options) => {
      const { output } = cli;
      const ofFiles = environment !== undefined;
      const { schedules, status } = ofFiles ? await inEnvironment(cli, environment) : await ofDatabase(cli);
      const shown = scheduleViews(schedules, status).filter((one) => !late || one.late);
      if (next) shown.sort((a, b) => dueOf(a) - dueOf(b));
      if (output.isJson) output.json({ schedules: shown });
      else if (shown.length === 0) output.note(late ? "No schedule is late." : "No schedules.");
      else {
        const page = pageOf(cli);
        const columns = selectColumns(scheduleColumns(status.now, page, ofFiles), undefined);
        for (const line of table(columns, shown, page)) output.print(line);
      }
    });
}

async function ofDatabase(cli: Cli) {
  const jobs = await openExisting(cli);
  const schedules: TickingSchedule[] = await jobs.schedules();
  return { schedules, status: await jobs.status() };
}

function dueOf({ paused, nextTick }: TickingSchedule): number {
  return paused || nextTick === null ? Number.POSITIVE_INFINITY : nextTick.getTime();
}
