import { Argument, type Command } from "commander";
import type { Punctual } from "../../../punctual.ts";
import type { Cli } from "../../cli.ts";
import { integer } from "../../input/arguments.ts";
import { openExisting } from "../../load/database.ts";
import { pageOf } from "../../render/page.ts";
import { detailsOf } from "../../views/details.ts";
import { watch, watchEvery } from "../../views/live-view.ts";
import { pagesOf } from "../runs/fetch-runs.ts";
import {
  checkListOptions,
  filterOf,
  type ListKind,
  type ListQuery,
  listings,
  listKinds,
  toDocument,
} from "./listings.ts";

interface Options {
  where?: string;
  limit?: number;
  before?: number;
  columns?: string;
  watch?: string | true;
  jsonl?: boolean;
}

const LIMIT = 50;

export default function list(command: Command, cli: Cli): void {
  command
    .addArgument(new Argument("[what]", "what to list").choices(listKinds).default("runs"))
    .option("--where <query>", 'which runs, such as "state:failed job:send-* after:24h"')
    .option("--limit <count>", `most runs to list (default: ${LIMIT}; with --jsonl all)`, integer(1))
    .option("--before <id>", "runs before this one: the next page", integer(1, Number.MAX_SAFE_INTEGER))
    .option("--columns <names>", "these columns, such as id,job,error")
    .option("-w, --watch [interval]", "refresh every 2s, or at this interval")
    .option("--jsonl", "print one JSON document per line, as runs are found")
    .action(async (what: ListKind, options: Options, self: Command) => {
      const kind = misread(self, options) ?? what;
      checkListOptions(kind, options);
      const { output } = cli;
      const page = pageOf(cli);
      const query: ListQuery = {
        limit: options.limit ?? (options.jsonl ? Number.POSITIVE_INFINITY : LIMIT),
        timezone: page.zone,
        ...(options.where !== undefined && { where: options.where }),
        ...(options.before !== undefined && { before: options.before }),
        ...(options.columns !== undefined && { columns: options.columns }),
      };
      const jobs = await openExisting(cli);
      const look = () => listings[kind](jobs, query);
      if (options.watch !== undefined) {
        return watch(cli, {
          every: watchEvery(options.watch),
          take: look,
          json: ({ rows, more }) => ({ [kind]: rows, ...more }),
          picture: ({ lines, notes, subjects }, current) => {
            const [titles = "", ...body] = lines(current);
            const foot = notes.length > 0 ? ["", ...notes] : [];
            return { head: [titles], body, foot, ...(subjects && { subjects }) };
          },
          details: (subject, current) => detailsOf(jobs, subject, current),
        });
      }
      if (options.jsonl && kind === "runs") return stream(jobs, query, cli);
      const { rows, more, notes, lines } = await look();
      // Rejects unknown columns even if the list is empty.
      if (options.columns !== undefined) lines(page);
      if (options.jsonl) for (const row of rows) output.jsonLine(row);
      else if (output.isJson) output.json({ [kind]: rows, ...more });
      else if (rows.length === 0) output.note(`No ${kind}${query.where === undefined ? "" : " that match"}.`);
      else for (const line of lines(page)) output.print(line);
      for (const line of notes) output.note(line);
    });
}

/** Returns the kind in "list -w failures", which commander parses as an interval of `--watch`; null: none. */
function misread({ args }: Command, options: Options): ListKind | null {
  const meant = args.length === 0 ? listKinds.find((kind) => kind === options.watch) : undefined;
  if (meant === undefined) return null;
  options.watch = true;
  return meant;
}

/** Prints runs page by page, so that only one page is in memory. */
async function stream(jobs: Punctual, query: ListQuery, { output }: Cli): Promise<void> {
  for await (const { runs } of pagesOf(jobs, filterOf(query), query.limit)) {
    for (const run of runs) output.jsonLine(toDocument(run));
    await output.drained();
  }
}
