import type { Command } from "commander";
import { finishedStates } from "../../run/states.ts";
import { instantIn } from "../arguments.ts";
import { addBulkOptions, type BulkOptions, operate } from "../bulk.ts";
import type { Cli } from "../cli.ts";
import { zoneFor } from "../render/page.ts";

export default function retry(command: Command, cli: Cli): void {
  addBulkOptions(command, "retry")
    .description(
      "Run finished runs once more, under their ids. --where means failed ones unless it names a state.",
    )
    .option("--at <time>", "not now but then, such as 2026-12-01T10:00:00Z")
    .action((ids: string[], options: BulkOptions & { at?: string }) => {
      const at =
        options.at === undefined ? {} : { at: new Date(instantIn(zoneFor(cli.globals), options.at)) };
      return operate(
        cli,
        {
          verb: "retry",
          past: "retried",
          states: finishedStates,
          meant: ["failed"],
          act: async (jobs, id) => {
            await jobs.retry(id, at);
            return "retried";
          },
        },
        ids,
        options,
      );
    });
}
