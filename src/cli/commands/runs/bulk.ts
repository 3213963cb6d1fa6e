import type { Command } from "commander";
import { formatValue, PunctualError } from "../../../errors.ts";
import { type BulkAction, checkSelects, statesIn } from "../../../operate/bulk.ts";
import { toQuery } from "../../../operate/run-query.ts";
import type { Punctual } from "../../../punctual.ts";
import { toTerms } from "../../../query/terms.ts";
import { isFinished, type RunState } from "../../../run/states.ts";
import { systemClock, yieldToEventLoop } from "../../../time.ts";
import type { Cli } from "../../cli.ts";
import { integer, wholeNumber } from "../../input/arguments.ts";
import { canAsk, confirm } from "../../input/ask.ts";
import { Interrupt } from "../../input/signals.ts";
import { openExisting } from "../../load/database.ts";
import { Exit, exitCodes } from "../../output/exit-codes.ts";
import { plain } from "../../output/output.ts";
import { recordAction } from "../../record-action.ts";
import { Bar } from "../../render/bar.ts";
import { counted } from "../../render/formats.ts";
import { zoneFor } from "../../render/page.ts";
import { filterOf } from "../list/listings.ts";
import { pagesOf } from "./fetch-runs.ts";

export interface BulkFlags {
  where?: string;
  limit?: number;
  dryRun?: boolean;
}

type Where = { where: string; limit: number };

/** An operation on each of many runs. */
export interface Operation {
  verb: BulkAction;
  /** `retried`, and the key of the count in JSON. */
  past: string;
  /** States that `--where` selects; runs in other states are ignored. */
  states: RunState[];
  /** States that `--where` selects if the query names none. Default: `states`. */
  defaultStates?: RunState[];
  /** End of the question; if set, the command asks for confirmation of any number of runs. */
  question?: string;
  /**
   * Returns the word under which the run is counted, such as `retried`; throws the errors of the instance. `only`: the
   * states that the query allows, since the run may have changed meanwhile; undefined: the run was named.
   */
  act(jobs: Punctual, id: number, only: RunState[] | undefined): Promise<string>;
}

/** Most runs that the command changes without confirmation. With `--where` on a terminal it always asks. */
const MOST_UNCONFIRMED = 100;
/** Operations in parallel. Each is a transaction on one run, so that they do not block each other. */
const AT_ONCE = 8;
/** Most runs that `--dry-run` lists. */
const SHOWN = 20;

export function addBulkOptions(command: Command, verb: string, example: string): Command {
  return command
    .argument("[id...]", "runs by their ids")
    .option("--where <query>", `${verb} every run that matches, such as "${example}"`)
    .option("--limit <n>", "at most n of them, the newest", integer(1))
    .option("--dry-run", "print the runs, and change nothing");
}

const WORDS: Record<string, string> = { requested: "asked to stop" };

/** Numbers of changed, skipped and missing runs. */
class Counts {
  readonly done = new Map<string, number>();
  readonly skipped = new Map<string, number>();
  readonly missing: number[] = [];

  count(of: Map<string, number>, word: string): void {
    of.set(word, (of.get(word) ?? 0) + 1);
  }

  get total(): number {
    const all = [...this.done.values(), ...this.skipped.values()];
    return all.reduce((sum, n) => sum + n, this.missing.length);
  }

  text(past: string): string {
    const parts = [...this.done].map(([word, n]) => `${n} ${WORDS[word] ?? word}`);
    if (this.done.size === 0) parts.push(`0 ${past}`);
    const skipped = [...this.skipped.values()].reduce((sum, n) => sum + n, 0);
    const reasons = [...this.skipped].map(([word, n]) => (this.skipped.size > 1 ? `${n} ${word}` : word));
    if (skipped > 0) parts.push(`${skipped} skipped (${reasons.join(", ")})`);
    if (this.missing.length > 0) parts.push(`${this.missing.length} not found (${this.missing.join(", ")})`);
    return parts.join(", ");
  }
}

/**
 * Applies the operation to the named runs, or to all that match; prints the counts and throws the exit code.
 * The query runs once: a person who confirmed 214 runs gets these, not others that fail meanwhile.
 */
export async function operate(
  cli: Cli,
  operation: Operation,
  ids: string[],
  options: BulkFlags,
): Promise<void> {
  const { where, limit = Number.POSITIVE_INFINITY, dryRun } = options;
  if (ids.length > 0 === (where !== undefined)) {
    throw new PunctualError(
      "INVALID_OPTION",
      `${operation.verb} expected ids of runs or --where, ${where === undefined ? "and got neither" : "not both"}. For example: punctual ${operation.verb} 42 43`,
    );
  }
  const only = where === undefined ? undefined : allowedBy(where, operation, zoneFor(cli.globals));
  const named = [...new Set(ids.map(toId))];
  const jobs = await openExisting(cli);
  const found = where === undefined ? named : await matchingIds(cli, jobs, only!, { where, limit });
  const chosen = found.slice(0, limit);
  if (dryRun) return printMatches(cli, jobs, operation, chosen);
  const { verb, question } = operation;
  const many = chosen.length > MOST_UNCONFIRMED || (where !== undefined && canAsk(cli));
  if ((many || question !== undefined) && chosen.length > 0) {
    await confirm(cli, `${sentenceCase(verb)} ${counted(chosen.length, "run")}${question ?? ""}?`);
  }
  const counts = new Counts();
  const interrupt = new Interrupt();
  const bar = new Bar(cli.output.stderr, sentenceCase(operation.verb), { total: chosen.length });
  try {
    for (let from = 0; from < chosen.length && !interrupt.came; from += AT_ONCE) {
      const group = chosen.slice(from, from + AT_ONCE);
      await Promise.all(group.map((id) => operateOn(jobs, operation, { id, only }, counts)));
      // SQLite answers synchronously: without this, a signal would not be handled.
      await yieldToEventLoop();
      if (!cli.output.isQuiet && chosen.length > MOST_UNCONFIRMED) bar.update(counts.total);
    }
  } finally {
    bar.end();
    interrupt.done();
  }
  if (counts.done.size > 0) {
    const details = { ...Object.fromEntries(counts.done), skipped: Object.fromEntries(counts.skipped) };
    const target = where ?? idText(named);
    await recordAction(cli, jobs, { action: `run.${verb}`, target, details });
  }
  tell(cli, operation, counts, chosen.length);
  interrupt.throwIfCame();
  if (counts.missing.length > 0) throw new Exit(exitCodes.notFound);
  if (where === undefined && counts.skipped.size > 0) throw new Exit(exitCodes.failed);
}

/** Returns the states of runs that a query means, and throws if it selects nothing. */
function allowedBy(
  where: string,
  { verb, states, defaultStates = states }: Operation,
  timezone: string,
): RunState[] {
  const now = systemClock.now();
  const { where: conditions } = toQuery({ where, timezone }, now, "--where");
  checkSelects(conditions, verb, { now, what: "--where" });
  return statesIn(conditions).filter((state) => (namesState(where) ? states : defaultStates).includes(state));
}

/** Acts on one run. `only`: the run was found by the query, in a state that allowed the operation. */
async function operateOn(
  jobs: Punctual,
  { act }: Operation,
  { id, only }: { id: number; only: RunState[] | undefined },
  counts: Counts,
): Promise<void> {
  try {
    counts.count(counts.done, await act(jobs, id, only));
  } catch (error) {
    const code = error instanceof PunctualError ? error.code : null;
    if (code === "RUN_NOT_FOUND") counts.missing.push(id);
    else if (code === "RUN_CLAIMED" || code === "RUN_FINISHED") {
      // The state may have changed since the error.
      const state = await jobs.state(id);
      if (state === null) counts.missing.push(id);
      // Only another retry takes a run out of the finished ones.
      else if (only?.every(isFinished) && !isFinished(state)) counts.count(counts.skipped, "already retried");
      else counts.count(counts.skipped, `already ${state}`);
    } else throw error;
  }
}

function tell({ output }: Cli, { past }: Operation, counts: Counts, chosen: number): void {
  if (output.isJson) {
    output.json({
      [past]: 0,
      ...Object.fromEntries(counts.done),
      skipped: Object.fromEntries(counts.skipped),
      missing: counts.missing,
    });
    return;
  }
  const left = chosen - counts.total;
  output.print(`${counts.text(past)}${left > 0 ? `; interrupted, ${left} left` : ""}`);
}

async function printMatches(cli: Cli, jobs: Punctual, { past }: Operation, ids: number[]): Promise<void> {
  const { output } = cli;
  if (output.isJson) return output.json({ dryRun: true, matched: ids.length, ids });
  for (const id of ids.slice(0, SHOWN)) {
    const run = await jobs.find(id);
    output.print(run ? `${id}  ${plain(run.name)}  ${run.state}` : `${id}  not found`);
  }
  if (ids.length > SHOWN) output.print(`… and ${ids.length - SHOWN} more`);
  output.note(`${counted(ids.length, "run")} would be ${past}. Nothing was changed.`);
}

/** Whether the query names a state. */
function namesState(where: string): boolean {
  return toTerms(where).some(({ field }) => field !== null && /^(state|is)$/i.test(field));
}

/** Returns ids of matching runs in these states, newest first: `retry --where job:email` skips completed runs. */
async function matchingIds(cli: Cli, jobs: Punctual, states: RunState[], options: Where): Promise<number[]> {
  const { where, limit } = options;
  const asked = { where, limit, timezone: zoneFor(cli.globals) };
  const filter = { ...filterOf(asked), state: states };
  const ids: number[] = [];
  let isBounded = false;
  for await (const { runs, bounded } of pagesOf(jobs, filter, limit)) {
    for (const { id } of runs) ids.push(id);
    isBounded ||= bounded;
  }
  if (isBounded)
    cli.output.note('Only finished runs of the last 7 days are included. To go further back: "… after:30d"');
  return ids;
}

/** Returns at most the first 100 ids as text. */
function idText(ids: number[]): string {
  return `${ids.slice(0, 100).join(", ")}${ids.length > 100 ? `, … (${ids.length})` : ""}`;
}

function toId(text: string): number {
  const id = wholeNumber(text);
  if (id !== null && id > 0) return id;
  throw new PunctualError(
    "INVALID_OPTION",
    `Expected the id of a run, a whole number, got ${formatValue(text)}.`,
  );
}

function sentenceCase(text: string): string {
  return `${text[0]!.toUpperCase()}${text.slice(1)}`;
}
