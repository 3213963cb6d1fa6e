import { mostAtOnce, neighbours, type Try } from "../../process/support/sweep.ts";
import type { Entry } from "../../support/journal.ts";

export interface Limits {
  job: Record<string, number>;
  perKey: Record<string, number>;
  queue: Record<string, number>;
}

/** A run as it is in the tables at the end. */
export interface FinalRun {
  id: number;
  name: string;
  /** As in the tables: 3 is completed, 4 failed. */
  state: number;
  attempts: number;
  crashes: number;
  /** Attempts that do not count: ended by a shutdown, or lost before their start was written. */
  uncounted: number;
  tick_at: number | null;
}

export interface FinalAttempt {
  run_id: number;
  outcome: string;
  error: string | null;
}

export interface Evidence {
  entries: readonly Entry[];
  /** The dispatched runs. */
  asked: readonly number[];
  finished: readonly FinalRun[];
  unfinished: readonly FinalRun[];
  attempts: readonly FinalAttempt[];
  limits: Limits;
  queueOf: Record<string, string>;
}

const COMPLETED = 3;
const FAILED = 4;
const CAP = 3;

/** An attempt, and whether its handler returned. */
export interface JournaledTry extends Try {
  hasEnded: boolean;
}

/** When processes died: they were killed or seen to be gone, but not before their last journal entry. */
export function deaths(entries: readonly Entry[]): Map<number, number> {
  const dead = new Map<number, number>();
  const last = new Map<number, number>();
  for (const { what, at, pid, ids } of entries) {
    last.set(pid, at);
    if (what === "dies") dead.set(pid, at);
    if (what === "kill" || what === "gone") {
      for (const one of ids!) dead.set(one, Math.min(at, dead.get(one) ?? Infinity));
    }
  }
  return new Map([...dead].map(([pid, at]) => [pid, Math.max(at, last.get(pid) ?? 0)]));
}

/** The runs that had reached each process, which starts them at once. */
function givenTo(entries: readonly Entry[]): Map<number, Set<number>> {
  const given = new Map<number, Set<number>>();
  for (const { what, pid, ids } of entries) {
    if (what === "given") given.set(pid, new Set([...(given.get(pid) ?? []), ...ids!]));
  }
  return given;
}

/** Every attempt, until its handler returned or its process was dead. */
export function triesIn(entries: readonly Entry[]): JournaledTry[] {
  const dead = deaths(entries);
  const open = new Map<string, JournaledTry>();
  const all: JournaledTry[] = [];
  for (const { what, at, run, job, key, crashes, pid } of entries) {
    const name = `${pid} ${run}`;
    if (what === "start") {
      const to = dead.get(pid) ?? Infinity;
      const of = { run: run!, job: job!, key: key ?? null, crashes: crashes ?? 0, pid };
      const one = { ...of, from: at, to, hasEnded: false };
      open.set(name, one);
      all.push(one);
    } else if (what === "end") {
      const one = open.get(name);
      if (one) Object.assign(one, { to: at, hasEnded: true });
      open.delete(name);
    }
  }
  return all;
}

/** Returns a sentence for each violation. */
export function check(evidence: Evidence): string[] {
  const all = triesIn(evidence.entries);
  return [
    ...nothingLost(evidence, all),
    ...leasesKept(evidence),
    ...neverTwiceAtOnce(all),
    ...limitsHeld(evidence, all),
    ...crashedAlone(all),
    ...ticksOnce(evidence),
    ...crashesAgree(evidence, all),
  ];
}

function nothingLost(
  { asked, finished, unfinished, entries }: Evidence,
  all: readonly JournaledTry[],
): string[] {
  const dead = deaths(entries);
  const given = givenTo(entries);
  const byId = new Map(finished.map((run) => [run.id, run]));
  const wrong: string[] = [];
  // Ticks continue until the end.
  for (const { id, name, state } of unfinished) {
    if (name !== "ticking" || state === 2) wrong.push(`run ${id} of ${name} is left in state ${state}`);
  }
  for (const id of asked) {
    if (!byId.has(id)) wrong.push(`run ${id} was asked for and is not in history`);
  }
  for (const { id, state, crashes } of finished) {
    const mine = all.filter(({ run }) => run === id);
    if (state === COMPLETED) {
      if (!mine.some(({ hasEnded }) => hasEnded))
        wrong.push(`run ${id} completed, but no handler of it ended`);
    } else if (state === FAILED && crashes >= CAP) {
      const killers = [...dead.keys()].filter((pid) => given.get(pid)?.has(id));
      if (killers.length < CAP)
        wrong.push(`run ${id} failed as crashed, but began in ${killers.length} dead processes`);
    } else wrong.push(`run ${id} is in state ${state} with ${crashes} crashes`);
  }
  return wrong;
}

/** Only a worker without time or without a database may lose leases. */
function leasesKept({ entries }: Evidence): string[] {
  const excused = new Set(
    entries.filter(({ what }) => what === "stalled" || what === "error").map(({ by }) => by),
  );
  return entries.flatMap(({ what, by, run }) =>
    what === "run.lost" && !excused.has(by)
      ? [`run ${run} lost its lease, and nothing had kept ${by} from it`]
      : [],
  );
}

function neverTwiceAtOnce(all: readonly JournaledTry[]): string[] {
  const most = mostAtOnce(all, ({ run }) => String(run));
  return [...most].flatMap(([run, count]) => (count > 1 ? [`run ${run} ran ${count} times at once`] : []));
}

function limitsHeld({ limits, queueOf }: Evidence, all: readonly JournaledTry[]): string[] {
  const wrong: string[] = [];
  const hold = (what: string, limit: number, of: readonly JournaledTry[], gate: (one: Try) => string) => {
    for (const [name, count] of mostAtOnce(of, gate)) {
      if (count > limit) wrong.push(`${count} of ${what} ${name} at once, where ${limit} may be`);
    }
  };
  for (const [job, limit] of Object.entries(limits.job)) {
    const of = all.filter((one) => one.job === job);
    hold("the job", limit, of, () => job);
  }
  for (const [job, limit] of Object.entries(limits.perKey)) {
    const of = all.filter((one) => one.job === job);
    hold(`the job ${job} with the key`, limit, of, ({ key }) => key ?? "");
  }
  for (const [queue, limit] of Object.entries(limits.queue)) {
    const of = all.filter(({ job }) => queueOf[job] === queue);
    hold("the queue", limit, of, () => queue);
  }
  return wrong;
}

/** How long a crashed run is alone at least, and how long the earlier runs had to finish, less some slack. */
const ALONE_FOR = 4500;
const CLEARED_WITHIN = 9500;

function crashedAlone(all: readonly JournaledTry[]): string[] {
  return all.flatMap((one) => {
    if (one.crashes === 0) return [];
    const beside = neighbours(all, one).filter(
      ({ from }) => from < one.from + ALONE_FOR && from > one.from - CLEARED_WITHIN,
    );
    return beside.length > 0 ? [`run ${one.run} has a crash behind it and ran beside ${beside[0]!.run}`] : [];
  });
}

/** Checks a schedule that ticks every second. */
function ticksOnce({ finished, unfinished, entries }: Evidence): string[] {
  const ticks = [...finished, ...unfinished].filter(({ name }) => name === "ticking");
  const wrong: string[] = [];
  const seconds = ticks.map(({ tick_at }) => tick_at! / 1000).sort((a, b) => a - b);
  for (const [index, second] of seconds.entries()) {
    const step = index === 0 ? 1 : second - seconds[index - 1]!;
    if (step < 1) wrong.push(`the tick of second ${second} was made twice`);
    if (step > 1) wrong.push(`${step - 1} ticks before second ${second} are missing`);
  }
  const runOf = new Map<string, number>();
  for (const { what, job, run, text } of entries) {
    if (what !== "start" || job !== "ticking") continue;
    if ((runOf.get(text!) ?? run) !== run)
      wrong.push(`the tick of ${text} ran as ${runOf.get(text!)} and ${run}`);
    runOf.set(text!, run!);
  }
  return wrong;
}

/** The processes that a crashed attempt names; null: its worker was lost with it. */
const culprit = ({ error }: FinalAttempt): number | null => {
  const named = /\(pid (\d+)\)/.exec(error ?? "");
  return named ? Number(named[1]) : null;
};

function crashesAgree({ finished, attempts, entries }: Evidence, all: readonly JournaledTry[]): string[] {
  const dead = deaths(entries);
  const given = givenTo(entries);
  const crashed = Map.groupBy(
    attempts.filter(({ outcome }) => outcome === "crashed"),
    ({ run_id }) => run_id,
  );
  const killed = new Set(entries.flatMap(({ what, ids }) => (what === "kill" ? ids! : [])));
  const dying = new Set(entries.filter(({ what }) => what === "dies").map(({ pid }) => pid));
  const supervisors = entries.filter(({ what }) => what === "kill supervisor").length;
  /** The supervisor was killed too, before it had taken the run back: its lease had to end. */
  const isUnseen = (run: number, since: number) =>
    entries.find(
      (one) =>
        one.at > since && (one.what === "kill supervisor" || (one.what === "run.reaped" && one.run === run)),
    )?.what === "kill supervisor";
  const wrong: string[] = [];
  for (const { id, state, attempts: counted, crashes, uncounted } of finished) {
    const mine = crashed.get(id) ?? [];
    const expected = crashes + uncounted + (state === COMPLETED ? 1 : 0);
    if (mine.length !== crashes)
      wrong.push(`run ${id} has ${crashes} crashes and ${mine.length} crashed attempts`);
    if (counted !== expected)
      wrong.push(`run ${id} has ${counted} attempts and ${crashes} crashes, in state ${state}`);
    const named = mine.map(culprit);
    for (const pid of named) {
      if (pid === null) continue;
      if (!dead.has(pid)) wrong.push(`run ${id} is charged with process ${pid}, which did not die`);
      else if (!given.get(pid)?.has(id))
        wrong.push(`run ${id} is charged with process ${pid}, which had not got it`);
    }
    const lost = entries.filter(({ what, run }) => what === "run.lost" && run === id).length;
    const unnamed = named.filter((pid) => pid === null).length;
    if (unnamed > supervisors + lost)
      wrong.push(`run ${id} is charged with ${unnamed} lost workers; ${supervisors} were`);
    if (new Set(named.filter((pid) => pid !== null)).size + unnamed !== named.length)
      wrong.push(`run ${id} is charged twice with one process`);
  }
  for (const { run, pid, hasEnded } of all) {
    const isCharged = (crashed.get(run) ?? []).some((attempt) => culprit(attempt) === pid);
    if (hasEnded || isCharged || !(killed.has(pid) || dying.has(pid)) || isUnseen(run, dead.get(pid)!))
      continue;
    wrong.push(`run ${run} had begun in process ${pid} when it was killed, and is not charged with it`);
  }
  return wrong;
}
