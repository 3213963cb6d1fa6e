import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addBulkOptions, type BulkOptions, operate } from "./bulk.ts";

export default function cancel(command: Command, cli: Cli): void {
  addBulkOptions(command, "cancel")
    .description("Withdraw waiting runs, and ask running ones to stop: their handlers' signals abort.")
    .option("--force", "end running ones at once, whatever their code still does")
    .action((ids: string[], { force = false, ...options }: BulkOptions & { force?: boolean }) =>
      operate(
        cli,
        {
          verb: "cancel",
          past: "cancelled",
          states: ["scheduled", "ready", "running"],
          ...(force && { question: " by force, though their code may go on" }),
          act: (jobs, id) => jobs.cancel(id, { force }),
        },
        ids,
        options,
      ),
    );
}
