import type { Command } from "commander";
import { PunctualError } from "../../../errors.ts";
import type { Cli } from "../../cli.ts";
import { openExisting } from "../../load/database.ts";
import { plain } from "../../output/output.ts";
import { addList } from "./list.ts";
import { addNext } from "./next.ts";
import { findSchedules } from "./schedule-info.ts";

export default function schedule(command: Command, cli: Cli): void {
  addList(command.command("list"), cli);
  addNext(command.command("next"), cli);
  addRun(command.command("run"), cli);
}

export function addRun(command: Command, cli: Cli): void {
  command
    .summary("dispatch the run of a tick now")
    .description(
      "Dispatch the run of a tick now, with the schedule's job, arguments and queue. Its ticks do not change.",
    )
    .argument("<job|id>", "a job with one schedule, or the id of a schedule")
    .action(async (what: string) => {
      const { output } = cli;
      // The definition in the job files computes the key of a limit per key.
      await cli.load();
      const jobs = await openExisting(cli);
      const [schedule, ...others] = await findSchedules(jobs, what);
      if (!schedule) return;
      if (others.length > 0) {
        const all = [schedule, ...others].map(({ id, cron }) => `${id} (${cron})`).join(", ");
        throw new PunctualError(
          "INVALID_OPTION",
          `Job "${what}" has ${others.length + 1} schedules: ${all}. Name one by its id.`,
        );
      }
      const { id, job, args, queue } = schedule;
      const dispatch = jobs.dispatch(job, args);
      const run = await (queue === null ? dispatch : dispatch.queue(queue));
      if (output.isJson) output.json({ id: run.id, job, schedule: id });
      else output.print(`run ${run.id} of ${plain(job)} dispatched`);
    });
}
