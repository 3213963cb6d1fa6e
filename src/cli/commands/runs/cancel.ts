import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { addBulkOptions, type BulkOptions, operate } from "./bulk.ts";

export default function cancel(command: Command, cli: Cli): void {
  addBulkOptions(command, "cancel")
    .description("Cancel waiting runs, and abort the signals of running handlers.")
    .option("--force", "end running runs at once, although their code may continue")
    .action((ids: string[], { force = false, ...options }: BulkOptions & { force?: boolean }) =>
      operate(
        cli,
        {
          verb: "cancel",
          past: "cancelled",
          states: ["scheduled", "ready", "running"],
          ...(force && { question: " by force, although their code may continue" }),
          act: (jobs, id) => jobs.cancel(id, { force }),
        },
        ids,
        options,
      ),
    );
}
