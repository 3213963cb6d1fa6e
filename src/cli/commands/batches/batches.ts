import type { Command } from "commander";
import { PunctualError } from "../../../errors.ts";
import type { Punctual } from "../../../punctual.ts";
import type { Cli } from "../../cli.ts";
import { integer } from "../../input/arguments.ts";
import { openExisting } from "../../load/database.ts";
import { Exit, exitCodes } from "../../output/exit-codes.ts";
import { recordAction } from "../../record-action.ts";
import { counted } from "../../render/formats.ts";
import { pageOf } from "../../render/page.ts";
import { detailsOf } from "../../views/details.ts";
import { watch, watchEvery } from "../../views/live-view.ts";
import { listings } from "../list/listings.ts";

interface Options {
  unfinished?: boolean;
  limit: number;
  before?: number;
  watch?: string | true;
}

/** `punctual batches` */
export function batches(command: Command, cli: Cli): void {
  command
    .description("List batches, the newest first, with a bar of the members that have ended.")
    .option("--unfinished", "only batches that have not finished")
    .option("--limit <count>", "most batches to list", integer(1, 1000), 50)
    .option("--before <id>", "batches before this one: the next page", integer(1, Number.MAX_SAFE_INTEGER))
    .option("-w, --watch [interval]", "refresh every 2s, or at this interval")
    .action(async ({ unfinished = false, limit, before, watch: interval }: Options) => {
      const { output } = cli;
      const page = pageOf(cli);
      const query = { limit, unfinished, timezone: page.zone, ...(before !== undefined && { before }) };
      const jobs = await openExisting(cli);
      const look = () => listings.batches(jobs, query);
      if (interval !== undefined) {
        return watch(cli, {
          every: watchEvery(interval),
          take: look,
          json: ({ rows, more }) => ({ batches: rows, ...more }),
          picture: ({ lines, notes, subjects }, current) => {
            const [titles = "", ...body] = lines(current);
            const foot = notes.length > 0 ? ["", ...notes] : [];
            return { head: [titles], body, foot, ...(subjects && { subjects }) };
          },
          details: (subject, current) => detailsOf(jobs, subject, current),
        });
      }
      const { rows, more, notes, lines } = await look();
      if (output.isJson) output.json({ batches: rows, ...more });
      else if (rows.length === 0) output.note(`No batches${unfinished ? " that have not finished" : ""}.`);
      else for (const line of lines(page)) output.print(line);
      for (const line of notes) output.note(line);
    });
}

/** `punctual batch seal|cancel|retry` */
export function batch(command: Command, cli: Cli): void {
  const add = (name: "seal" | "cancel" | "retry", summary: string, act: Act) => {
    command
      .command(name)
      .summary(summary)
      .description(`${summary[0]!.toUpperCase()}${summary.slice(1)}.`)
      .argument("<id>", "the id of the batch", integer(1, Number.MAX_SAFE_INTEGER))
      .action(async (id: number) => {
        const jobs = await openExisting(cli);
        const { text, details, isDone = true } = await act(jobs, id).catch(refused);
        if (isDone)
          await recordAction(cli, jobs, { action: `batch.${name}`, target: `batch ${id}`, details });
        if (cli.output.isJson) cli.output.json({ id, ...details });
        else cli.output.print(`batch ${id}${text}`);
      });
  };
  add("seal", "end the adding of members, so that the batch can finish", async (jobs, id) => {
    const sealed = await jobs.sealBatch(id);
    if (sealed) return { text: " sealed", details: { sealed } };
    const { finishedAt } = await jobs.batchStatus(id);
    const text = finishedAt === null ? ": it was sealed before" : ": it has finished";
    return { text: `${text}; nothing changed`, details: { sealed }, isDone: false };
  });
  add("cancel", "cancel the waiting members and ask the running ones to end", async (jobs, id) => {
    await jobs.cancelBatch(id);
    return { text: " cancelled", details: {} };
  });
  add("retry", "run the failed and cancelled members again", async (jobs, id) => {
    const retried = await jobs.retryBatch(id);
    return { text: `: ${counted(retried, "member")} retried`, details: { retried } };
  });
}

/** The effect of a command on a batch. */
interface BatchAction {
  /** Follows the name of the batch. */
  text: string;
  details: { sealed?: boolean; retried?: number };
  /** Whether anything has changed. Default: yes. */
  isDone?: boolean;
}

type Act = (jobs: Punctual, id: number) => Promise<BatchAction>;

function refused(error: unknown): never {
  if (error instanceof PunctualError && error.code === "BATCH_NOT_FOUND")
    throw new Exit(exitCodes.notFound, error.message);
  throw error;
}
