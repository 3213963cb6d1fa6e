import type { Punctual } from "../../../punctual.ts";
import type { LogLine, RunInfo } from "../../../run/info.ts";
import { isFinished } from "../../../run/states.ts";
import { sleep, systemClock } from "../../../time.ts";
import type { Cli } from "../../cli.ts";
import { plain } from "../../output/output.ts";
import { pageOf } from "../../render/page.ts";
import { hides } from "../../views/parts.ts";
import { logDocument, logLines } from "./log-lines.ts";

/** Milliseconds between polls of a followed run. Workers write log lines about once a second. */
const LOOK_EVERY = 500;

const PAGE = 1000;

export interface LogsShown {
  raw: boolean;
  /** Whether to wait for further lines until the run has ended. */
  follow: boolean;
  jsonl: boolean;
}

/** Prints the log of a run page by page; as a JSON document, all at once. */
export async function showLogs(cli: Cli, jobs: Punctual, run: RunInfo, shown: LogsShown): Promise<void> {
  const { output } = cli;
  const { raw, jsonl } = shown;
  const page = pageOf(cli);
  const isDocument = output.isJson && !jsonl;
  const all: LogLine[] = [];
  let [count, hidden] = [0, false];
  const end = await eachLine(cli, jobs, run, shown.follow, async (lines, { attempts }) => {
    count += lines.length;
    const now = systemClock.now();
    const several = attempts > 1 || lines.some(({ attempt }) => attempt > 1);
    for (const line of lines) {
      hidden ||= !raw && hides(line.data);
      if (isDocument) all.push(line);
      else if (jsonl) output.jsonLine(logDocument(line, raw));
      else for (const text of logLines(line, { raw, attempts: several, now }, page)) output.print(text);
    }
    await output.drained();
  });
  if (isDocument) {
    const { id, name, state } = end ?? { ...run, state: null };
    return output.json({ run: id, job: name, state, logs: all.map((line) => logDocument(line, raw)) });
  }
  if (count === 0) output.note(`Run ${run.id} has logged nothing.`);
  if (shown.follow)
    output.note(end ? `run ${run.id} ${endOf(end)}` : `run ${run.id} has ended and is not kept`);
  if (hidden) output.note(`To see hidden values: punctual show ${run.id} --logs --raw`);
}

/** Passes the log to `take` in pages. Returns the last state of the run; null: the run was deleted. */
async function eachLine(
  cli: Cli,
  jobs: Punctual,
  run: RunInfo,
  follow: boolean,
  take: (lines: LogLine[], run: RunInfo) => Promise<void>,
): Promise<RunInfo | null> {
  let last: RunInfo | null = run;
  let told = "";
  for (let after = 0; ; ) {
    // The state is read before the lines: a finished run has written all of its lines.
    const seen: RunInfo | null = follow ? await jobs.find(run.id) : last;
    for (;;) {
      const lines = await jobs.logs(run.id, { after, limit: PAGE });
      if (lines.length > 0) await take(lines, seen ?? run);
      after = lines.at(-1)?.position ?? after;
      if (lines.length < PAGE) break;
    }
    last = seen;
    if (!follow || last === null || isFinished(last.state)) return last;
    const isWaiting = last.state !== "running";
    if (isWaiting && told !== last.state)
      cli.output.note(`run ${run.id} of ${plain(run.name)} is ${last.state}: waiting for it`);
    told = last.state;
    await sleep(systemClock, LOOK_EVERY);
  }
}

function endOf({ state, error }: RunInfo): string {
  const word = { failed: "failed", cancelled: "was cancelled", skipped: "was skipped" }[state as string];
  return word === undefined ? state : `${word}${error ? `: ${plain(error.message)}` : ""}`;
}
