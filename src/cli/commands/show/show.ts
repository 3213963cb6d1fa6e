import type { Command } from "commander";
import type { Punctual } from "../../../punctual.ts";
import type { RunInfo } from "../../../run/info.ts";
import { redact } from "../../../run/redact.ts";
import { listCommand, queryQuote, shellQuote } from "../../../status/hints.ts";
import type { Cli } from "../../cli.ts";
import { wholeNumber } from "../../input/arguments.ts";
import { openExisting } from "../../load/database.ts";
import { Exit, exitCodes } from "../../output/exit-codes.ts";
import { exactJson, plain } from "../../output/output.ts";
import { pageOf } from "../../render/page.ts";
import { wrapHint } from "../../render/width.ts";
import { batchHints, batchPage } from "../../views/batch-page.ts";
import { findBatch, findJob, findRun } from "../../views/details.ts";
import { type JobPageContent, jobHints, jobPage } from "../../views/job-page.ts";
import { hides } from "../../views/page-blocks.ts";
import { type RunDetails, runHints, runPage } from "../../views/run-page.ts";
import { toDocument } from "../list/listings.ts";
import { withoutSecrets } from "../schedule/schedule-info.ts";
import { showLogs } from "./logs.ts";

interface Options {
  payload?: boolean;
  raw?: boolean;
  logs?: boolean;
  follow?: boolean;
  jsonl?: boolean;
}

export default function show(command: Command, cli: Cli): void {
  command
    .argument("<run-or-job>", "the id of a run, the name of a job, or batch:<id>")
    .option("--payload", "only the payload of a run, whole, as JSON")
    .option("--raw", "do not hide secrets or cut long values")
    .option("--logs", "only the log lines of a run")
    .option("-f, --follow", "like --logs, and wait for more until the run has ended")
    .option("--jsonl", "with --logs: one JSON document per line, as they arrive")
    .action(async (what: string, { payload = false, raw = false, ...options }: Options) => {
      const { output } = cli;
      const { follow = false, jsonl = false } = options;
      const isLogs = options.logs || follow;
      if (jsonl && !isLogs) throw new Exit(exitCodes.usage, "--jsonl prints the log of a run: add --logs.");
      if (payload && isLogs)
        throw new Exit(exitCodes.usage, "--payload and --logs exclude each other. Leave one of them out.");
      const jobs = await openExisting(cli);
      const page = pageOf(cli);
      const batch = /^batch:(\d{1,15})$/.exec(what);
      if (batch) return showBatch(cli, jobs, Number(batch[1]));
      const id = wholeNumber(what) ?? 0;
      if (isLogs) return showLogs(cli, jobs, await findLogged(jobs, what, id), { raw, follow, jsonl });
      const run = id > 0 ? await findRun(jobs, id) : null;
      if (run) {
        if (payload) return printPayload(cli, run, raw);
        if (output.isJson) return output.json(runDocument(run, raw));
        for (const line of runPage(run, { raw, cwd: process.cwd() }, page)) output.print(line);
        printHints(cli, runHints(run, raw));
        return;
      }
      const job = await findJob(jobs, what, id);
      if (payload) throw new Exit(exitCodes.usage, `A job has no payload: name one of its runs by its id.`);
      if (output.isJson) return output.json(jobDocument(job, raw));
      for (const line of jobPage(job, page)) output.print(line);
      printHints(cli, jobHints(job, shellQuote(plain(job.view.job.name))));
    });
}

async function showBatch(cli: Cli, jobs: Punctual, id: number): Promise<void> {
  const { output } = cli;
  const found = await findBatch(jobs, id);
  if (!found) throw new Exit(exitCodes.notFound, `There is no batch ${id}. To list all: punctual batches`);
  const { batch, callbacks, failures } = found;
  if (output.isJson)
    return output.json({
      batch,
      callbacks: callbacks.map(toDocument),
      failures: failures.map(toDocument),
    });
  for (const line of batchPage(found, pageOf(cli))) output.print(line);
  printHints(cli, batchHints(found));
}

function printHints({ output }: Cli, hints: string[]): void {
  output.note("");
  for (const hint of hints) for (const line of wrapHint(hint, output.errorProseWidth)) output.note(line);
}

/** Prints the payload in a form that can be dispatched again; `{}` for a run without arguments. */
function printPayload({ output }: Cli, { run }: RunDetails, raw: boolean): void {
  const { id, args = {} } = run;
  const shown = raw ? args : redact(args);
  if (output.isJson) output.json({ payload: shown });
  else output.print(exactJson(shown));
  if (!raw && hides(args)) output.complain(`To see hidden values: punctual show ${id} --payload --raw`);
}

async function findLogged(jobs: Punctual, what: string, id: number): Promise<RunInfo> {
  const run = id > 0 ? await jobs.find(id) : null;
  if (run) return run;
  const { name } = (await findJob(jobs, what, id)).view.job;
  throw new Exit(
    exitCodes.usage,
    `${plain(name)} is a job: --logs needs the id of a run. Its runs: ${plain(listCommand(`job:${queryQuote(name)}`))}`,
  );
}

function runDocument({ run, why, attempts, logLines, lostResult }: RunDetails, raw: boolean): object {
  return { run: raw ? run : toDocument(run), why, attempts, logLines, lostResult };
}

function jobDocument(
  { view: { job, state, remark }, queue, schedules, runs, day }: JobPageContent,
  raw: boolean,
): object {
  const shown = raw
    ? { schedules, runs }
    : { schedules: schedules.map(withoutSecrets), runs: runs.map(toDocument) };
  const { counts, waited, took } = day;
  return { job: { ...job, state, remark }, queue, day: { counts, waited, took }, ...shown };
}
