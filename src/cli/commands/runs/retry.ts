import type { Command } from "commander";
import { finishedStates } from "../../../run/states.ts";
import { type Instant, toOffset } from "../../../time.ts";
import type { Cli } from "../../cli.ts";
import { instant, instantIn } from "../../input/arguments.ts";
import { zoneFor } from "../../render/page.ts";
import { addBulkOptions, type BulkFlags, operate } from "./bulk.ts";

export default function retry(command: Command, cli: Cli): void {
  addBulkOptions(command, "retry", "job:email after:24h")
    .description("Retry finished runs under their ids. --where finds failed runs unless it names a state.")
    .option("--at <time>", "run at this time, such as 2026-12-01T10:00:00Z or +90s", instant)
    .action((ids: string[], options: BulkFlags & { at?: string }) => {
      const at = options.at === undefined ? {} : { at: whenOf(options.at, zoneFor(cli.globals)) };
      return operate(
        cli,
        {
          verb: "retry",
          past: "retried",
          states: finishedStates,
          defaultStates: ["failed"],
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

/** `+90s` counts from the moment at which each run is retried. */
function whenOf(text: string, zone: string): Instant {
  return toOffset(text) === null ? new Date(instantIn(zone, text)) : text;
}
