import type { Command } from "commander";
import type { Cli } from "../../cli.ts";
import { integer } from "../../input/arguments.ts";
import { openExisting } from "../../load/database.ts";
import { pageOf } from "../../render/page.ts";
import { listings } from "../list/listings.ts";

/** `punctual rates` */
export default function rates(command: Command, cli: Cli): void {
  command
    .description(
      "List the rates of jobs, keys, queues and named limits: how much of each is spent, and when it opens.",
    )
    .option("--limit <count>", "most rates to list", integer(1, 1000), 100)
    .action(async ({ limit }: { limit: number }) => {
      const { output } = cli;
      const page = pageOf(cli);
      const jobs = await openExisting(cli);
      const { rows, notes, lines } = await listings.rates(jobs, { limit, timezone: page.zone });
      if (output.isJson) output.json({ rates: rows });
      else if (rows.length === 0) output.note("No job, no queue and no named limit has a rate.");
      else for (const line of lines(page)) output.print(line);
      for (const line of notes) output.note(line);
    });
}
