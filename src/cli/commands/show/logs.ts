import type { Punctual } from "../../../punctual.ts";
import type { LogLine, RunInfo } from "../../../run/info.ts";
import { redact } from "../../../run/redact.ts";
import { isFinished } from "../../../run/states.ts";
import { sleep, systemClock } from "../../../time.ts";
import type { Cli } from "../../cli.ts";
import { plain } from "../../output/output.ts";
import { clock, day } from "../../render/formats.ts";
import { type Page, pageOf } from "../../render/page.ts";
import { cut, widthOf, wrap } from "../../render/width.ts";
import { hides } from "../../views/page-blocks.ts";

/** Milliseconds between polls of a followed run. Workers write log lines about once a second. */
const POLL_EVERY = 500;

/** Log lines that one read returns. */
const PAGE = 1000;

export interface LogOptions {
  raw: boolean;
  /** Whether to wait for further lines until the run has ended. */
  follow: boolean;
  jsonl: boolean;
}

/** Prints the log of a run page by page; as a JSON document, all at once. */
export async function showLogs(cli: Cli, jobs: Punctual, run: RunInfo, options: LogOptions): Promise<void> {
  const { output } = cli;
  const { raw, follow, jsonl } = options;
  const page = pageOf(cli);
  const isDocument = output.isJson && !jsonl;
  const all: LogLine[] = [];
  let [count, hidden] = [0, false];
  const end = await eachLine(cli, jobs, { run, follow }, async (lines, { attempts }) => {
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
  if (follow) output.note(end ? `run ${run.id} ${endOf(end)}` : `run ${run.id} has ended and is not kept`);
  if (hidden) output.note(`To see hidden values: punctual show ${run.id} --logs --raw`);
}

/** Passes the log to `take` in pages. Returns the last state of the run; null: the run was deleted. */
async function eachLine(
  cli: Cli,
  jobs: Punctual,
  { run, follow }: { run: RunInfo; follow: boolean },
  take: (lines: LogLine[], run: RunInfo) => Promise<void>,
): Promise<RunInfo | null> {
  let last: RunInfo | null = run;
  let announced = "";
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
    if (isWaiting && announced !== last.state)
      cli.output.note(`run ${run.id} of ${plain(run.name)} is ${last.state}: waiting for it`);
    announced = last.state;
    await sleep(systemClock, POLL_EVERY);
  }
}

function endOf({ state, error }: RunInfo): string {
  const word = { failed: "failed", cancelled: "was cancelled", skipped: "was skipped" }[state as string];
  return word === undefined ? state : `${word}${error ? `: ${plain(error.message)}` : ""}`;
}

/**
 * Renders a log entry: time, attempt if the run had several, message and data. The text wraps on a terminal; otherwise
 * the entry is always one line.
 */
export function logLines(
  line: LogLine,
  { raw, attempts, now }: { raw: boolean; attempts: boolean; now: number },
  page: Page,
): string[] {
  const isToday = page.width !== null && day(line.at, page.zone) === day(now, page.zone);
  const time = `${clock(line.at, page.zone)}.${String(line.at.getMilliseconds()).padStart(3, "0")}`;
  const when = isToday ? time : `${day(line.at, page.zone)} ${time}`;
  const head = `${when}  ${attempts ? `#${line.attempt}  ` : ""}`;
  const data = line.data === undefined ? "" : plain(JSON.stringify(raw ? line.data : redact(line.data)));
  const painted = page.paint("dim", head);
  if (page.width === null) return [`${painted}${plain(line.message)}${data && `  ${data}`}`];
  const room = Math.max(20, page.width - head.length);
  const shorten = (text: string) => (raw ? text : cut(text, room, page.icons.ellipsis));
  const text = wrap(line.message, room);
  const last = text.at(-1)!;
  const beside = room - widthOf(last) - 2;
  if (data !== "" && (widthOf(data) <= beside || last === "")) {
    text[text.length - 1] = `${last}${last && "  "}${page.paint("dim", shorten(data))}`;
  } else if (data !== "") text.push(page.paint("dim", shorten(data)));
  return text.map((one, index) => `${index === 0 ? painted : " ".repeat(head.length)}${one}`);
}

/** The JSON document of a log entry. */
export function logDocument(line: LogLine, raw: boolean): object {
  return { ...line, data: raw ? line.data : redact(line.data) };
}
