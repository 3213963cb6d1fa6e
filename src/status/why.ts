import { readFailure } from "../run/failure.ts";
import { serves } from "../store/queue-selection.ts";
import type { LastHeartbeat, NamedFacts, RateRecord, SlotUsage, WaitFacts } from "../store/records.ts";
import { WORKER_DEAD_AFTER } from "../store/store.ts";
import { isClaiming, isPaused } from "../store/worker-records.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../time.ts";
import { rateText } from "./rates.ts";
import { UNDEFINED_AFTER } from "./report.ts";

/** Most workers to name in one sentence. */
const MOST_NAMED = 3;

const AFTER_HANDLER = new Set(["onSuccess", "onError", "onAfter"]);
const FILTERS = new Set(["when", "skip"]);

/** Explains the state of a run in sentences: of a waiting run every reason why it waits, the strongest first. */
export function explain(facts: WaitFacts): string[] {
  const { run, now } = facts;
  switch (run.state) {
    case "running":
      return [
        `It is running: attempt ${run.attempts}, started ${span(now - run.startedAt!)} ago, on ${holderOf(facts)}.`,
        ...lostWorker(facts),
        ...isolation(run),
        ...slowHook(facts),
        ...(run.cancelRequested ? ["It was asked to cancel; its handler has not returned yet."] : []),
      ];
    case "scheduled":
      return [
        ...(run.runAt > now
          ? [`It is due in ${span(run.runAt - now)}, at ${new Date(run.runAt).toISOString()}.`]
          : reasonsToStayScheduled(facts)),
        ...(run.attempts > 0 ? [`It waits for attempt ${run.attempts + 1}.`] : []),
      ];
    case "ready":
      return run.worker === null ? reasonsToWait(facts) : claimed(facts);
    default: {
      const failure = readFailure(run.error);
      return [
        `It has ${run.state === "completed" ? "completed" : `ended: ${run.state}`}.`,
        ...(failure ? [failure.message] : []),
      ];
    }
  }
}

/** Explains a run that a worker has claimed and not started. */
function claimed(facts: WaitFacts): string[] {
  const { run, behind } = facts;
  return [
    behind === null
      ? `It is claimed and about to start: attempt ${run.attempts}, on ${holderOf(facts)}.`
      : `It waits behind run ${behind} of its lane: ${holderOf(facts)} has claimed both, and executes one after the other.`,
    ...lostWorker(facts),
    ...isolation(run),
    ...(run.cancelRequested ? ["It was asked to cancel: its worker will not start it."] : []),
  ];
}

/** Describes the run's worker if the lease has expired or the worker gives no sign of life. */
function lostWorker({ run, workers, holder, now }: WaitFacts): string[] {
  const left = (run.lockedUntil ?? now) - now;
  const isSeen = workers.some(({ id }) => id === run.worker);
  if (left >= 0 && isSeen) return [];
  const others = workers.filter(({ id, parallel }) => id !== run.worker && parallel > 0);
  const taken =
    others.length === 0
      ? "no other worker is alive to take it back"
      : "another worker takes it back within seconds";
  if (left < 0) return [`Its lease ended ${span(-left)} ago: ${taken}.`];
  const silent = holder
    ? `has given no sign of life for ${span(now - holder.seenAt)}`
    : "gives no sign of life any more";
  const then = others.length === 0 ? `and ${taken}` : "then another worker takes it back";
  return [`Its worker ${silent}: its lease ends in ${span(left)}, ${then}.`];
}

function isolation({ crashes, isolated, startedAt, child }: WaitFacts["run"]): string[] {
  if (crashes === 0) return [];
  const crashed = `It has crashed ${times(crashes)}`;
  if (startedAt === null) return [`${crashed}, and waits until the other runs in its process have finished.`];
  if (!isolated) return [`${crashed}.`];
  return [
    child === null
      ? `${crashed}, and is alone in its process for some seconds: other runs of its worker wait.`
      : `${crashed}, and has its child process to itself.`,
  ];
}

function slowHook({ slowHook: slow, now }: WaitFacts): string[] {
  if (!slow) return [];
  const { name, since, limit } = slow;
  const handler = AFTER_HANDLER.has(name) ? "has finished" : "has not started";
  const kind = name.startsWith("on") ? "the hook " : FILTERS.has(name) ? "the filter " : "";
  return [
    `Its handler ${handler}: ${kind}${name} has been running for ${span(now - since)} (since ${new Date(since).toISOString()}), and times out after ${span(limit)}.`,
  ];
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}

function nameWorker(worker: LastHeartbeat): string {
  return worker ? `worker ${worker.host}:${worker.pid}` : "a dead worker";
}

function holderOf({ run: { child }, holder }: WaitFacts): string {
  const worker = nameWorker(holder);
  if (child === null) return worker;
  const [number, pid] = child.split(":");
  return `${worker}, child ${number} (pid ${pid})`;
}

/** Explains a run that is due, and that no worker has made ready. */
function reasonsToStayScheduled(facts: WaitFacts): string[] {
  const obstacles = obstaclesOf(facts);
  if (obstacles.length === 0) return ["It is due: the next claim of any worker makes it ready."];
  return [`It has been due for ${span(facts.now - facts.run.runAt)}.`, ...obstacles];
}

/** Returns every reason why no worker can start the run, however many slots are free. */
function obstaclesOf(facts: WaitFacts): string[] {
  const { run, job, queue, now } = facts;
  if (run.owner !== null) {
    return facts.ownerAlive
      ? ["It is a function of one process, and waits for the worker of that process."]
      : [
          `It is a function of a process that gives no sign of life: it fails ${span(WORKER_DEAD_AFTER)} after the last one.`,
        ];
  }
  const reasons: string[] = [];
  if (queue?.paused) {
    const until = queue.pausedUntil === null ? "" : ` until ${new Date(queue.pausedUntil).toISOString()}`;
    reasons.push(`Its queue "${run.queue}" is paused${until}${pauseNote(queue.pause)}.`);
  }
  if (job?.paused) reasons.push(`Its job "${run.name}" is paused${pauseNote(job.pause)}.`);
  reasons.push(...fullLimits(facts));
  const serving = servingIn(facts);
  if (aliveIn(facts).length === 0) reasons.push("No worker is alive.");
  else if (serving.length === 0) reasons.push(`No live worker serves the queue "${run.queue}".`);
  else if (!serving.some(isClaiming)) reasons.push(...haltedWorkers(serving));
  else if (!job?.seenAt) reasons.push(`No worker has ever defined the job "${run.name}".`);
  else if (now - job.seenAt > UNDEFINED_AFTER) {
    reasons.push(`No live worker defines the job "${run.name}"; one did ${span(now - job.seenAt)} ago.`);
  }
  return reasons;
}

/** Explains that no worker of the queue claims: names the first ones. */
function haltedWorkers(workers: WaitFacts["workers"]): string[] {
  const words = workers.slice(0, MOST_NAMED).map((worker) => {
    return `${nameWorker(worker)} is ${isPaused(worker) ? `paused${pauseNote(worker.request ?? null)}` : "stopping"}`;
  });
  const rest = workers.length - words.length;
  return [
    `No worker of its queue claims runs: ${[...words, ...(rest > 0 ? [`${rest} more`] : [])].join(", ")}.`,
  ];
}

function aliveIn({ workers }: WaitFacts): WaitFacts["workers"] {
  // A worker with `parallel` 0 executes nothing: it only shows that the owner of ad hoc runs is alive.
  return workers.filter((worker) => worker.parallel > 0);
}

function servingIn(facts: WaitFacts): WaitFacts["workers"] {
  return aliveIn(facts).filter((worker) => serves(worker, facts.run.queue));
}

function reasonsToWait(facts: WaitFacts): string[] {
  const { run, queue } = facts;
  const obstacles = obstaclesOf(facts);
  if (obstacles.length > 0) return obstacles;
  const serving = servingIn(facts);
  if (facts.ahead > 0) {
    const many = facts.ahead >= 1000 ? "1,000 or more" : String(facts.ahead);
    const come = `${many} ready ${facts.ahead === 1 ? "run comes" : "runs come"} before it`;
    return [
      queue?.fair
        ? `The lanes of its queue "${run.queue}" take turns: ${come} in its own lane or because they are more important.`
        : `It waits its turn: ${come} in the queue "${run.queue}".`,
      ...orderUnderNamedRate(facts),
    ];
  }
  if (run.crashes > 0) {
    const others = facts.isolated.map(({ id }) => id).join(", ");
    const now = others === "" ? "" : ` Now isolated: ${others}.`;
    return [`It has crashed ${times(run.crashes)}: it starts when a worker can isolate it.${now}`];
  }
  const closed = facts.isolated.filter(
    ({ worker, child }) => child === null && serving.some(({ id }) => id === worker),
  );
  if (closed.length > 0) {
    const open = serving.filter(({ id }) => !closed.some(({ worker }) => worker === id)).length;
    return [
      ...closed.map(
        ({ id, name, worker }) =>
          `Worker ${worker} isolates run ${id} of "${name}", which has crashed before: its other runs wait, a few seconds at most.`,
      ),
      ...(open > 0
        ? [`It is next in its queue for ${open === 1 ? "the other worker" : `${open} other workers`}.`]
        : []),
    ];
  }
  if (queue?.fair) {
    return [
      `Nothing holds it back: it is next in its lane. The lanes of its queue "${run.queue}" take turns; it starts when a worker with a free slot reaches its lane.`,
    ];
  }
  return ["Nothing holds it back: it is next in its queue and starts as soon as a worker has a free slot."];
}

function orderUnderNamedRate({ named, rates = [] }: WaitFacts): string[] {
  if (!named || !rates.some(({ name }) => name === named.name)) return [];
  return [
    `Runs under its limit "${named.name}" start in order: one whose cost does not fit yet holds back those behind it.`,
  ];
}

/** Returns by whom and why something was paused, as an end of a sentence; empty if neither was given. */
export function pauseNote(pause: { by: string | null; reason: string | null } | null): string {
  const by = pause?.by ? ` by ${pause.by}` : "";
  return pause?.reason ? `${by} (${pause.reason})` : by;
}

function fullLimits(facts: WaitFacts): string[] {
  const { run, job, queue, runningOfJob, runningOfLane, runningOfQueue } = facts;
  const reasons: string[] = [];
  if (job && job.limit > 0 && runningOfJob.slots >= job.limit) {
    const hint =
      job.limit === 1 ? " (1 unless the definition says otherwise; concurrency(0) means no limit)" : "";
    reasons.push(`Its job "${run.name}" may run ${job.limit} at once${hint}, and ${running(runningOfJob)}.`);
  }
  if (job && run.key !== null && job.keyLimit > 0 && runningOfLane.slots >= job.keyLimit) {
    reasons.push(
      `Runs with its key "${run.key}" may run ${job.keyLimit} at once, and ${running(runningOfLane)}.`,
    );
  }
  if (queue && queue.limit > 0 && runningOfQueue.slots >= queue.limit) {
    reasons.push(`Its queue "${run.queue}" may run ${queue.limit} at once, and ${running(runningOfQueue)}.`);
  }
  reasons.push(...fullNamed(facts.named ?? null), ...closedRates(facts));
  const hasKeyLimit = job && (job.keyLimit > 0 || job.hasKeyRate);
  if (reasons.length === 0 && hasKeyLimit && !facts.keyed) {
    reasons.push(
      "Its key is not known yet: the process that dispatched it could not compute it. A worker that defines the job with perKey computes it first.",
    );
  }
  return reasons;
}

function fullNamed(named: NamedFacts | null): string[] {
  if (!named) return [];
  const { name, limit } = named;
  if (limit === null) {
    return [
      `Its limit "${name}" is not defined: call limit("${name}", …) in a process that works on this database.`,
    ];
  }
  if (limit === 0 || named.running.slots < limit) return [];
  return [`Its limit "${name}" admits ${limit} at once, and ${running(named.running)}.`];
}

function subjectOf({ job, key, queue, name }: Pick<RateRecord, "job" | "key" | "queue" | "name">): string {
  if (name !== undefined) return `Its limit "${name}"`;
  if (job === null) return `Its queue "${queue}"`;
  return key === null ? `Its job "${job}"` : `Runs with its key "${key}"`;
}

/** Says what a closed rate admits, and what is left of it for the run. */
function admission(
  rate: Pick<RateRecord, "name" | "limit" | "per" | "burst" | "spent">,
  named: NamedFacts | null,
): string {
  const cost = rate.name === undefined ? 1 : (named?.cost ?? 1);
  if (cost === 1) return `may start ${rateText(rate)}, and no start is left`;
  const capped =
    cost > rate.limit ? `, which is more than the limit: it starts when nothing else is spent` : "";
  return `admits ${rateText(rate)}, and ${rate.spent} are spent; the run costs ${cost}${capped}`;
}

function closedRates({ rates = [], named, ahead, now }: WaitFacts): string[] {
  return rates.flatMap(({ opensAt, slowedUntil, ...rate }) => {
    if (opensAt === null) return [];
    const { key } = rate;
    const subject = subjectOf(rate);
    const many = ahead >= 1000 ? "1,000 or more" : String(ahead);
    const before = ahead > 0 ? `; ${many} ready ${ahead === 1 ? "run comes" : "runs come"} before it` : "";
    const at = (time: number) => `${new Date(time).toISOString()} (in ${span(time - now)})`;
    const why =
      slowedUntil === null
        ? `${admission(rate, named ?? null)}. It opens at ${at(opensAt)}`
        : `${key === null ? "was" : "were"} slowed down until ${at(slowedUntil)} by run.slowDown() of a handler`;
    const later =
      slowedUntil !== null && opensAt > slowedUntil ? `; no start is left before ${at(opensAt)}` : "";
    return [`${subject} ${why}${later}${before}.`];
  });
}

function running({ slots, holders }: SlotUsage): string {
  const named = holders.map(({ id, worker }) => `run ${id} on ${nameWorker(worker)}`);
  const rest = slots - named.length;
  const all = rest > 0 ? [...named, `${rest} more`] : named;
  return `${slots} ${slots === 1 ? "is" : "are"} running: ${all.join(", ")}`;
}

/** Formats a duration with one unit: seconds, minutes, hours or days. */
export function span(ms: number): string {
  const seconds = Math.round(ms / SECOND);
  const rounded = seconds * SECOND;
  if (rounded < 2 * MINUTE) return `${seconds} s`;
  if (rounded < 2 * HOUR) return `${Math.round(rounded / MINUTE)} min`;
  return rounded < 2 * DAY ? `${Math.round(rounded / HOUR)} h` : `${Math.round(rounded / DAY)} days`;
}
