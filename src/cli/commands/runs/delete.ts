import type { Command } from "commander";
import { finishedStates } from "../../../run/states.ts";
import type { Cli } from "../../cli.ts";
import { addBulkOptions, type BulkFlags, operate } from "./bulk.ts";

export default function remove(command: Command, cli: Cli): void {
  addBulkOptions(command, "delete", "job:email state:failed")
    .description(
      "Delete runs that are not running, with their attempts and log lines. --where finds finished runs unless it names a state.",
    )
    .action((ids: string[], options: BulkFlags) =>
      operate(
        cli,
        {
          verb: "delete",
          past: "deleted",
          states: [...finishedStates, "scheduled", "ready"],
          defaultStates: finishedStates,
          act: async (jobs, id, only) => {
            await jobs.remove(id, { only });
            return "deleted";
          },
        },
        ids,
        options,
      ),
    );
}
