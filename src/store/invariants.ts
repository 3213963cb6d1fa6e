import { isChain } from "../run/chains.ts";
import { isKeyed, keyIn } from "../run/lanes.ts";

/** The rules that rows obey whatever happens to the processes, with what each promises. */
export const invariants = {
  "one-table": "A run is unfinished or finished, never both.",
  leased: "A running run has a worker, a token and a lease.",
  unleased: "A waiting run has none of them.",
  reaped: "While a worker is idle, leases that have ended are reaped within two minutes.",
  promoted: "While a worker is idle, due runs become ready within a minute.",
  ticked: "While a worker is idle, schedules tick within a minute.",
  limits: "No limit of a job, key or queue is exceeded, nor a named one.",
  "unique-keys": "A unique key has one holder.",
  batches:
    "The counts of a batch agree with its members; while a worker is idle, it finishes within two minutes.",
  members: "Members of batches, their runs and their counts belong to a batch that exists.",
  callbacks: "A batch that has failed or finished has dispatched its callbacks.",
  rates: "No rate has counted more starts than it admits, nor starts in the future.",
  attempts: "Every attempt belongs to a run.",
  logs: "Every log line belongs to a run; lines of deleted runs are deleted within a day.",
} as const;

export type Invariant = keyof typeof invariants;

/** Rows that break an invariant. */
export interface Violation {
  invariant: Invariant;
  /** Identifies the violation: a later look that finds it again gives the same text. */
  subject: string;
  /** A sentence that says what is wrong. */
  message: string;
}

/** The result of one look at the rows. */
export interface InvariantReport {
  /** At most 100 of each invariant. */
  violations: Violation[];
  /** Number of unfinished runs that were checked. */
  runs: number;
  /** Whether every row was checked, not only as many as the request allowed. */
  complete: boolean;
}

/** Most violations of each invariant to report. */
export const MOST_REPORTED = 100;

/** Violations, up to a number of each invariant. */
export class Findings {
  readonly violations: Violation[] = [];
  readonly #counts = new Map<Invariant, number>();

  add(violations: Violation[]): void {
    for (const violation of violations) {
      const count = this.#counts.get(violation.invariant) ?? 0;
      this.#counts.set(violation.invariant, count + 1);
      if (count < MOST_REPORTED) this.violations.push(violation);
    }
  }
}

/** A row of `runs`, with the facts about it in other tables. */
export interface RunFacts {
  id: number;
  name: string;
  state: number;
  run_at: number;
  token: string | null;
  worker: string | null;
  until: number | null;
  /** Whether the run is in `history` too. */
  finished: number;
  /** The finished run that holds the same unique key; null: none. */
  holder: number | null;
  batch_id: string | null;
}

/** Facts that decide whether a late row is a violation. */
export interface FleetFacts {
  now: number;
  /** Whether some live worker has a free slot: a busy one may be late with everything but its own leases. */
  hasIdleWorker: boolean;
}

/** Workers reap every ten seconds at the latest; a lapse or an outage delays them by some seconds more. */
const REAPED_WITHIN = 120_000;
export const PROMOTED_WITHIN = 60_000;
export const TICKED_WITHIN = 60_000;
export const SWEPT_WITHIN: number = 24 * 3_600_000;

/** Returns the invariants that one unfinished run breaks. */
export function violationsOf(run: RunFacts, { now, hasIdleWorker }: FleetFacts): Violation[] {
  const { id, name, state, token, worker, until } = run;
  const which = `Run ${id} of "${name}"`;
  const found: Violation[] = [];
  const add = (invariant: Invariant, what: string, subject = `run ${id}`) =>
    found.push({ invariant, subject, message: `${which} ${what}.` });
  if (run.finished === 1) add("one-table", "is among the unfinished runs and in the history");
  const lease = { "a worker": worker, "a token": token, "a lease": until };
  const lacks = Object.entries(lease).flatMap(([part, value]) => (value === null ? [part] : []));
  const isRunning = state === 2;
  if (isRunning && lacks.length > 0) add("leased", `is running without ${lacks.join(", ")}`);
  if (!isRunning && lacks.length < 3)
    add("unleased", "is waiting although it has a worker, a token or a lease");
  if (hasIdleWorker && isRunning && until !== null && until < now - REAPED_WITHIN)
    add("reaped", `has a lease that ended ${seconds(now - until)} ago`, `run ${id}, lease ${token}`);
  if (hasIdleWorker && state === 0 && run.run_at < now - PROMOTED_WITHIN)
    add("promoted", `has been due for ${seconds(now - run.run_at)} and is not ready`);
  if (run.holder !== null) add("unique-keys", `holds the unique key of the finished run ${run.holder}`);
  return found;
}

/** A running run without an owner, with the columns that limits count. */
export interface RunningRun {
  id: number;
  name: string;
  lane: string;
  queue: string;
  token: string | null;
  started_at: number | null;
}

/** A limit of a job, of each key of a job, of a queue, or of jobs that share it by its name. */
export interface Limit {
  kind: "job" | "key" | "queue" | "limit";
  name: string;
  most: number;
  /** Start of the process that defined it. Runs that were claimed before may exceed a limit that was lowered. */
  definedAt: number;
  /** The jobs that share it. */
  jobs?: ReadonlySet<string>;
}

/** A process writes its definitions to the database within this time after its start. */
export const SYNCED_WITHIN = 60_000;

/** Most runs that the message about a limit names. */
const MOST_NAMED = 5;

/** Returns the limits that are exceeded. A chain occupies one slot. */
export function exceededLimits(running: RunningRun[], limits: Limit[]): Violation[] {
  return limits.flatMap(({ kind, name, most, definedAt, jobs }) => {
    const under = running.filter((run) => {
      if (kind === "limit") return jobs?.has(run.name) ?? false;
      return kind === "queue" ? run.queue === name : run.name === name && (kind === "job" || hasKey(run));
    });
    const groups = kind === "key" ? Map.groupBy(under, ({ lane }) => lane) : new Map([["", under]]);
    return [...groups].flatMap(([lane, runs]): Violation[] => {
      const slots = slotsOf(runs);
      const surplus = slots[most];
      if (surplus === undefined || surplus.startedAt <= definedAt + SYNCED_WITHIN) return [];
      const key = kind === "key" ? ` with the key "${keyIn(lane, name)}"` : "";
      const subject = `${kind === "key" ? "job" : kind} "${name}"${key}`;
      const named = slots.slice(0, MOST_NAMED).map(({ id }) => id);
      const message = `${slots.length} runs ${kind === "limit" ? "under" : "of"} the ${subject} are running at once, and the limit is ${most}: ${named.join(", ")}${slots.length > MOST_NAMED ? ", …" : ""}.`;
      return [{ invariant: "limits", subject: `${kind} ${subject}`, message }];
    });
  });
}

function hasKey({ lane, name }: RunningRun): boolean {
  return isKeyed(lane, name) && keyIn(lane, name) !== null;
}

/** Returns the slots that runs occupy, in the order of their starts. */
function slotsOf(runs: RunningRun[]): { id: number; startedAt: number }[] {
  const slots = Map.groupBy(runs, ({ id, token }) => (isChain(token) ? token : id));
  return [...slots.values()]
    .map((members) => ({
      id: members[0]!.id,
      startedAt: members.reduce(
        (first, { started_at: at }) => Math.min(first, at ?? first),
        Number.POSITIVE_INFINITY,
      ),
    }))
    .sort((a, b) => a.startedAt - b.startedAt);
}

export function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}
