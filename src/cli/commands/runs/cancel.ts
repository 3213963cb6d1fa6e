import type { Command } from "commander";
import { activeStates } from "../../../run/states.ts";
import type { Cli } from "../../cli.ts";
import { addBulkOptions, type BulkFlags, operate } from "./bulk.ts";

export default function cancel(command: Command, cli: Cli): void {
  addBulkOptions(command, "cancel", "job:email is:waiting")
    .description("Cancel waiting runs, and abort the signals of running handlers.")
    .option("--force", "end running runs at once, although their code may continue")
    .action((ids: string[], { force = false, ...options }: BulkFlags & { force?: boolean }) =>
      operate(
        cli,
        {
          verb: "cancel",
          past: "cancelled",
          states: activeStates,
          ...(force && { question: " by force, although their code may continue" }),
          // With `only`, a run that has been cancelled before is an error: this call has not cancelled it.
          act: (jobs, id, only = activeStates) => jobs.cancel(id, { force, only }),
        },
        ids,
        options,
      ),
    );
}
