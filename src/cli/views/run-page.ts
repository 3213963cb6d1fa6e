import { relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { toBatchLink } from "../../run/batch.ts";
import type { Failure } from "../../run/failure.ts";
import type { AttemptInfo, RunInfo } from "../../run/info.ts";
import { readProgress } from "../../run/progress.ts";
import { redact } from "../../run/redact.ts";
import { isFinished } from "../../run/states.ts";
import { listCommand } from "../../status/hints.ts";
import type { StatusReport } from "../../status/report.ts";
import { DAY } from "../../time.ts";
import { plain } from "../output/output.ts";
import { progressBar } from "../render/bar.ts";
import { ago, counted, due, duration, grouped } from "../render/formats.ts";
import type { Page } from "../render/page.ts";
import { type Column, table } from "../render/table.ts";
import { cut, wrap } from "../render/width.ts";
import { workerName } from "./job-state.ts";
import { at, block, facts, hides, indented, jsonLines } from "./page-blocks.ts";
import { RUN_LOOKS, tookOf, waitedOf } from "./run-columns.ts";

export interface RunDetails {
  run: RunInfo;
  why: string;
  attempts: AttemptInfo[];
  /** Number of lines that the run logged. */
  logLines: number;
  /** Why the result of the run was not kept; null: it is shown, or there was none. */
  lostResult: string | null;
  report: Pick<StatusReport, "workers" | "silent">;
  now: Date;
}

/** Most frames of Node and packages: enough to see the origin of the error. */
const MOST_FOREIGN = 5;

/** The page of `show <id>`. */
export function runPage(shown: RunDetails, options: { raw: boolean; cwd: string }, page: Page): string[] {
  const { run, why, now } = shown;
  const { icon, style } = RUN_LOOKS[run.state];
  const title = `Run ${run.id} of ${plain(run.name)}: ${run.state}`;
  const { raw } = options;
  return [
    `${page.paint(style, page.icons[icon])} ${page.paint("bold", cut(title, (page.width ?? Number.POSITIVE_INFINITY) - 5, page.icons.ellipsis))}`,
    ...indented(wrap(why, page.proseWidth - 2)),
    "",
    ...facts(
      [
        ["Queue", run.queue],
        ["Priority", String(run.priority)],
        ["Key", run.key],
        ["Attempts", attemptsOf(run)],
        ["Dispatched", withAgo(run.createdAt, now, page)],
        ["Tick", at(run.scheduledFor, page)],
        ["Due", dueOf(run, now, page)],
        ["Started", run.startedAt && withAgo(run.startedAt, now, page)],
        ["Finished", run.finishedAt && withAgo(run.finishedAt, now, page)],
        [run.state === "running" ? "Running" : "Took", tookOf(run, now)],
        ["Waited", waitedOf(run)],
        ["Worker", holderOf(shown)],
        ["Child", run.child],
        ["Leased", at(run.lockedUntil, page)],
        ["Tags", run.tags.join(", ")],
        ["Parent", run.parentId === null ? null : `run ${run.parentId}`],
        ["Batch", batchOf(run)],
        ["Unique", run.uniqueKey],
        ["Progress", progressOf(run, raw, page)],
        ["Logs", logsOf(shown)],
      ],
      page,
    ),
    ...block("Attempts that failed or did not finish", attemptLines(shown, page), page),
    ...block(titleOf(run), errorLines(run, shown.attempts, options, page), page),
    ...block("Payload", jsonLines(run.args, raw, page), page),
    ...block("Result", resultLines(shown, raw, page), page),
  ];
}

/** The batch of a member or a callback. The runs of one `dispatchMany()` share a text, and have no batch. */
function batchOf({ batchId }: RunInfo): string | null {
  const link = toBatchLink(batchId);
  return link && `${link.batch}${link.on === null ? "" : `, on ${link.on}`}`;
}

/** A bar with both numbers, or the stored value. */
function progressOf({ progress }: RunInfo, raw: boolean, { icons }: Page): string | null {
  if (progress === undefined) return null;
  const numbers = readProgress(progress);
  if (!numbers || raw) return JSON.stringify(raw ? progress : redact(progress));
  return `${progressBar(numbers, icons, 20)}  ${grouped(numbers.done)}/${grouped(numbers.of)}`;
}

/** Returns hints with commands that apply to the run. */
export function runHints({ run, now }: RunDetails, raw: boolean): string[] {
  const hints = [nextStep(run)];
  if (run.fingerprint !== null) hints.push(`Others like it: ${othersCommand(run, now)}`);
  if (!raw && [run.args, run.result, run.progress].some(hides))
    hints.push(`To see hidden values: punctual show ${run.id} --raw`);
  return hints;
}

/** The command that lists the runs that failed with the same error, this one included. */
function othersCommand({ fingerprint, finishedAt }: RunInfo, now: Date): string {
  const days = Math.ceil((Number(now) - Number(finishedAt)) / DAY);
  // A query without a time searches the last 7 days.
  const since = days < 7 ? "" : ` after:${days + 1}d`;
  return listCommand(`fingerprint:${fingerprint}${since}`);
}

function nextStep({ id, state, error, name }: RunInfo): string {
  if (!isFinished(state)) return `Cancel it: punctual cancel ${id}`;
  // The handler was a function in the memory of a process that has ended: a retry would only fail again.
  if (error?.code === "HANDLER_GONE")
    return `It cannot be retried: its function existed only in the process that has ended. Dispatch it again, or define the job "${plain(name)}" with define().`;
  return `Retry it: punctual retry ${id}`;
}

function attemptsOf({ attempts, crashes }: RunInfo): string {
  if (crashes === 0) return String(attempts);
  return `${attempts}, of which ${crashes} crashed`;
}

function logsOf({ run, logLines }: RunDetails): string | null {
  return logLines === 0 ? null : `${counted(logLines, "line")}: punctual show ${run.id} --logs`;
}

function dueOf({ state, runAt }: RunInfo, now: Date, page: Page): string {
  const isWaiting = state === "ready" || state === "scheduled";
  return `${at(runAt, page)}${isWaiting ? ` (${due(runAt, now)})` : ""}`;
}

function titleOf({ state, error }: RunInfo): string {
  if (state === "failed") return "Error";
  return error === null ? "Last error" : "Reason";
}

function withAgo(date: Date, now: Date, page: Page): string {
  return `${at(date, page)} (${ago(date, now)})`;
}

/** The worker of a run. A stopped worker has no row any more: a finished run then has the worker's id only. */
function holderOf({ run: { worker, state }, report }: RunDetails): string | null {
  return worker && (workerName(worker, report) ?? (isFinished(state) ? worker : "a dead worker"));
}

function attemptLines({ attempts, report }: RunDetails, page: Page): string[] {
  if (attempts.length === 0) return [];
  const columns: Column<AttemptInfo>[] = [
    { title: "#", cell: ({ attempt }) => attempt, align: "right" },
    { title: "Outcome", cell: ({ outcome }) => outcome },
    { title: "Ended", cell: ({ finishedAt }) => at(finishedAt, page) },
    {
      title: "Took",
      cell: ({ startedAt, finishedAt }) =>
        startedAt ? duration(Number(finishedAt) - Number(startedAt)) : page.icons.none,
      align: "right",
    },
    { title: "Worker", cell: ({ worker }) => workerName(worker, report) ?? worker ?? "", drop: 1 },
    { title: "Error", cell: ({ error }) => ({ text: headOf(error), style: "red" }), min: 12 },
  ];
  const width = page.width === null ? null : page.width - 2;
  return indented(table(columns, attempts, { ...page, width }));
}

function resultLines({ run, lostResult }: RunDetails, raw: boolean, page: Page): string[] {
  if (lostResult === null) return jsonLines(run.result, raw, page);
  return indented(wrap(`Not kept. ${lostResult}`, page.proseWidth - 2));
}

function headOf(error: Failure | null): string {
  return error ? `${error.name}: ${error.message}` : "";
}

/** Lines of the run's error; for a run that will be retried, of the last attempt's error. */
function errorLines(
  run: RunInfo,
  attempts: AttemptInfo[],
  options: { raw: boolean; cwd: string },
  page: Page,
): string[] {
  const lines: string[] = [];
  let failure = run.error ?? (run.state === "completed" ? null : (attempts.at(-1)?.error ?? null));
  for (let isCause = false; failure; failure = failure.cause, isCause = true) {
    const code = failure.code === null || failure.message.includes(failure.code) ? "" : ` (${failure.code})`;
    // The reason of a cancelled or skipped run is a sentence, without the name of an error class.
    const isReason = run.state === "cancelled" || run.state === "skipped";
    const head = isReason ? failure.message : `${isCause ? "caused by " : ""}${headOf(failure)}${code}`;
    lines.push(
      ...wrap(head, page.width === null ? null : page.width - 2).map((line) => page.paint("red", line)),
    );
    lines.push(...frameLines(failure, options, page));
  }
  return indented(lines);
}

function frameLines(failure: Failure, { raw, cwd }: { raw: boolean; cwd: string }, page: Page): string[] {
  const frames = framesOf(failure, cwd);
  const foreign = frames.filter(({ isOwn }) => !isOwn);
  const shown = raw ? frames : [...frames.filter(({ isOwn }) => isOwn), ...foreign.slice(0, MOST_FOREIGN)];
  const width = raw || page.width === null ? Number.POSITIVE_INFINITY : page.width - 4;
  const lines = shown.map(({ text, isOwn }) => {
    const line = cut(plain(text), width, page.icons.ellipsis);
    return `  ${isOwn ? line : page.paint("dim", line)}`;
  });
  const left = frames.length - shown.length;
  return left > 0 ? [...lines, page.paint("dim", `  ${page.icons.ellipsis} ${left} more`)] : lines;
}

/** A line of a stack trace. */
export interface Frame {
  text: string;
  /** Whether the line is in the project's own code, not in Node or a package. */
  isOwn: boolean;
}

const FRAME = /^\s*at /;

/** Returns the frames of a failure, those of the folder's own code first: the user can change that code. */
export function framesOf(failure: Failure, folder: string): Frame[] {
  const frames = (failure.stack ?? "")
    .split("\n")
    .filter((line) => FRAME.test(line))
    .map((line) => toFrame(line.trim(), folder));
  return [...frames.filter(({ isOwn }) => isOwn), ...frames.filter(({ isOwn }) => !isOwn)];
}

function toFrame(line: string, folder: string): Frame {
  const file = /\(?((?:file:\/\/|\/|[A-Za-z]:\\)[^()]*?):\d+(?::\d+)?\)?$/.exec(line)?.[1];
  if (file === undefined) return { text: line, isOwn: false };
  const path = toPath(file);
  const near = relative(folder, path);
  const isOwn = !near.startsWith("..") && near !== path && !near.split(sep).includes("node_modules");
  return { text: isOwn ? line.replace(file, () => near) : line.replace(file, () => path), isOwn };
}

function toPath(file: string): string {
  try {
    return file.startsWith("file:") ? fileURLToPath(file) : file;
  } catch {
    return file;
  }
}
