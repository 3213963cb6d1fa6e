import { Argument, type Command } from "commander";
import type { RateChoice } from "../../../operate/rate-search.ts";
import type { Punctual } from "../../../punctual.ts";
import { rateSubject } from "../../../status/rates.ts";
import type { Cli } from "../../cli.ts";
import { didYouMean, unknownJob } from "../../input/names.ts";
import { openExisting } from "../../load/database.ts";
import { Exit, exitCodes } from "../../output/exit-codes.ts";
import { plain } from "../../output/output.ts";
import { recordAction } from "../../record-action.ts";
import { counted } from "../../render/formats.ts";

const CHOICES = {
  job: (job: string, key: string | undefined): RateChoice => ({ job, key }),
  queue: (queue: string): RateChoice => ({ queue }),
  limit: (name: string): RateChoice => ({ name }),
};

/** `punctual reopen` */
export default function reopen(command: Command, cli: Cli): void {
  command
    .description(
      "Reopen rates that run.slowDown() of a handler has closed. Earlier starts still count: a rate that has used up its starts stays closed.",
    )
    .addArgument(new Argument("<what>", "the kind").choices(["job", "queue", "limit"]))
    .argument("<name>", "its name; of a job, the rates of all its keys are reopened too")
    .option("--key <key>", "only the rate of this key of the job")
    .action(async (what: keyof typeof CHOICES, name: string, { key }: { key?: string }) => {
      if (what !== "job" && key !== undefined)
        throw new Exit(exitCodes.usage, `--key belongs to a job: a ${what} has one rate for all its runs.`);
      const which = CHOICES[what](name, key);
      const jobs = await openExisting(cli);
      const reopened = await jobs.reopenRate(which);
      const { job = null, queue = null, name: limit } = which;
      const target = rateSubject({
        job,
        queue,
        key: key ?? null,
        ...(limit !== undefined && { name: limit }),
      });
      if (reopened > 0)
        await recordAction(cli, jobs, { action: "rate.reopen", target, details: { reopened } });
      else await checkKnown(jobs, what, name);
      const { output } = cli;
      if (output.isJson) output.json({ reopened });
      else if (reopened > 0) output.print(`${plain(target)}: ${counted(reopened, "rate")} reopened`);
      else output.print(`${plain(target)}: no rate was slowed down; nothing changed`);
    });
}

/** Throws if no job, queue or limit has this name: it was probably mistyped. */
async function checkKnown(jobs: Punctual, what: keyof typeof CHOICES, name: string): Promise<void> {
  const status = await jobs.status();
  const lists = { job: status.jobs, queue: status.queues, limit: status.limits };
  const known = lists[what].map((one) => one.name);
  if (known.includes(name)) return;
  if (what === "job") throw unknownJob(name, known);
  throw new Exit(exitCodes.notFound, `There is no ${what} "${plain(name)}".${didYouMean(name, known)}`);
}
