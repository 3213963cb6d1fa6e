import type { Command } from "commander";
import { finishedStates } from "../../../run/states.ts";
import type { Cli } from "../../cli.ts";
import { addBulkOptions, type BulkOptions, operate } from "./bulk.ts";

export default function remove(command: Command, cli: Cli): void {
  addBulkOptions(command, "delete")
    .description("Delete runs that are not running, with their attempts. --where means finished ones only.")
    .action((ids: string[], options: BulkOptions) =>
      operate(
        cli,
        {
          verb: "delete",
          past: "deleted",
          states: finishedStates,
          act: async (jobs, id) => {
            await jobs.remove(id);
            return "deleted";
          },
        },
        ids,
        options,
      ),
    );
}
