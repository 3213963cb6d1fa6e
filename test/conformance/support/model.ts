import { isChain } from "../../../src/run/chains.ts";
import { type Outcome, outcomeRules, type RunState } from "../../../src/run/states.ts";
import type { Rate } from "../../../src/store/rate.ts";

export interface ModelRun {
  id: number;
  name: string;
  key: string | null;
  queue: string;
  limited: boolean;
  priority: number;
  runAt: number;
  state: RunState;
  attempts: number;
  crashes: number;
  suspect: boolean;
  token: string | null;
  worker: string | null;
  lockedUntil: number | null;
  startedAt: number | null;
  cancelRequested: boolean;
  /** Outcomes of attempts that are kept with the run. */
  tries: string[];
}

export interface ModelLease {
  id: number;
  token: string;
}

/** A start that a rate counts. */
interface ModelStart {
  name: string;
  key: string | null;
  at: number;
}

interface ModelLimits {
  jobLimits: Record<string, number>;
  keyLimits: Record<string, number>;
  queueLimits: Record<string, number>;
  /** Rates of jobs, and of each key of a job. */
  rates: Record<"job" | "key", Record<string, Rate>>;
}

/** Number of runs at once: the runs of a chain are executed one after the other. */
function slots(runs: ModelRun[]): number {
  return new Set(runs.map(({ token, id }) => (token !== null && isChain(token) ? token : id))).size;
}

/** The queue in its simplest form: one list, and one loop over it for everything. */
export class Model {
  now: number;
  runs: ModelRun[] = [];
  /** Every start of a job with rates. */
  readonly starts: ModelStart[] = [];
  readonly limits: ModelLimits;
  readonly pausedJobs: Set<string> = new Set();
  readonly pausedQueues: Set<string> = new Set();

  constructor(now: number, limits: ModelLimits) {
    this.now = now;
    this.limits = limits;
  }

  insert(
    fields: Pick<ModelRun, "id" | "name" | "key" | "queue" | "limited" | "priority"> & { delay: number },
  ): void {
    const { delay, ...rest } = fields;
    this.runs.push({
      ...rest,
      runAt: this.now + delay,
      state: delay > 0 ? "scheduled" : "ready",
      attempts: 0,
      crashes: 0,
      suspect: false,
      token: null,
      worker: null,
      lockedUntil: null,
      startedAt: null,
      cancelRequested: false,
      tries: [],
    });
  }

  /**
   * `tokens`: what the store gave each run. It decides how long its chains are; the model, which runs may be behind
   * which.
   */
  claim(
    claim: {
      worker: string;
      token: string;
      limit: number;
      start: number;
      limited: number;
      behind: number;
      queues: string[] | null;
      exceptQueues: string[];
      lease: number;
    },
    tokens: Map<number, string>,
  ): number[] {
    for (const run of this.runs) {
      if (run.state === "scheduled" && run.runAt <= this.now) run.state = "ready";
    }
    const claimed: ModelRun[] = [];
    const inOrder = [...this.runs].sort(
      (a, b) => a.priority - b.priority || a.runAt - b.runAt || a.id - b.id,
    );
    let heads = 0;
    for (const run of inOrder) {
      if (claimed.length >= claim.limit) break;
      if (run.state !== "ready") continue;
      if (this.pausedJobs.has(run.name) || this.pausedQueues.has(run.queue)) continue;
      if (claim.queues && !claim.queues.includes(run.queue)) continue;
      if (claim.exceptQueues.includes(run.queue)) continue;
      const token = tokens.get(run.id) ?? claim.token;
      const chain = isChain(token) ? claimed.filter((one) => one.token === token) : [];
      const follows = chain.length > 0;
      if (follows && (chain.length > claim.behind || !this.#mayFollow(run, chain, inOrder))) continue;
      if (!follows && run.limited && (heads >= claim.limited || !this.#hasRoom(run))) continue;
      run.state = "running";
      run.attempts++;
      run.token = token;
      run.worker = claim.worker;
      run.lockedUntil = this.now + claim.lease;
      const isRated = this.#ratesOf(run).length > 0;
      if (isRated) this.starts.push({ name: run.name, key: run.key, at: this.now });
      const starts = (!follows && heads < claim.start) || isRated;
      run.startedAt = starts && run.crashes === 0 ? this.now : null;
      if (!follows) heads++;
      claimed.push(run);
    }
    return claimed.map(({ id }) => id);
  }

  /** Whether a run may be the next of a chain: nothing crashed or may have, and no earlier run of the lane is left. */
  #mayFollow(run: ModelRun, chain: ModelRun[], inOrder: ModelRun[]): boolean {
    const isSame = (one: ModelRun) => one.name === run.name && one.key === run.key && one.queue === run.queue;
    const before = inOrder.slice(0, inOrder.indexOf(run));
    return (
      this.#ratesOf(run).length === 0 &&
      [...chain, run].every((one) => isSame(one) && one.limited && one.crashes === 0 && !one.suspect) &&
      !before.some((one) => isSame(one) && one.state === "ready")
    );
  }

  #hasRoom(run: ModelRun): boolean {
    const running = this.runs.filter((one) => one.state === "running" && one.limited);
    const under = (limit: number | undefined, runs: ModelRun[]) => !limit || slots(runs) < limit;
    const ofJob = running.filter((one) => one.name === run.name);
    const { jobLimits, keyLimits, queueLimits } = this.limits;
    return (
      under(jobLimits[run.name], ofJob) &&
      (run.key === null ||
        under(
          keyLimits[run.name],
          ofJob.filter((one) => one.key === run.key),
        )) &&
      under(
        queueLimits[run.queue],
        running.filter((one) => one.queue === run.queue),
      ) &&
      this.#ratesOf(run).every(({ rate, starts }) => starts < rate.limit)
    );
  }

  /** The rates that the run is under, and their starts in the window that ends now. */
  #ratesOf(run: ModelRun): { rate: Rate; starts: number }[] {
    const { job, key } = this.limits.rates;
    const count = (rate: Rate | undefined, is: (start: ModelStart) => boolean) => {
      const counts = (start: ModelStart) =>
        start.name === run.name && is(start) && start.at + rate!.per > this.now;
      return rate ? [{ rate, starts: this.starts.filter(counts).length }] : [];
    };
    const ofKey = run.key === null ? undefined : key[run.name];
    return [...count(job[run.name], () => true), ...count(ofKey, (start) => start.key === run.key)];
  }

  #held({ id, token }: ModelLease): ModelRun | undefined {
    return this.runs.find((run) => run.id === id && run.state === "running" && run.token === token);
  }

  #unlock(run: ModelRun): void {
    run.token = null;
    run.lockedUntil = null;
  }

  #wait(run: ModelRun, delay: number, isNumberUsed: boolean): void {
    this.#unlock(run);
    run.worker = null;
    run.startedAt = null;
    run.state = delay > 0 ? "scheduled" : "ready";
    if (delay > 0) run.runAt = this.now + delay;
    if (!isNumberUsed) run.attempts--;
  }

  #end(run: ModelRun, state: RunState, kept: boolean): void {
    this.#unlock(run);
    run.state = state;
    run.cancelRequested = false;
    if (!kept) this.runs = this.runs.filter((one) => one !== run);
  }

  settle(
    lease: ModelLease,
    outcome: Outcome,
    how: { delay: number; duration: number; kept: boolean },
  ): boolean | "cancelled" {
    const run = this.#held(lease);
    if (!run) return false;
    const { to, recorded } = outcomeRules[outcome];
    if (recorded) run.tries.push(outcome);
    if (to === "waiting" && !run.cancelRequested) {
      this.#wait(run, how.delay, outcome !== "released");
      return true;
    }
    run.startedAt = this.now - how.duration;
    this.#end(run, to === "waiting" ? "cancelled" : to, how.kept);
    return to === "waiting" ? "cancelled" : true;
  }

  renew(lease: ModelLease, length: number): boolean {
    const run = this.#held(lease);
    if (!run) return false;
    const until = this.now + length;
    // A lease that would end later, by no more than a lease, is that of a later renewal.
    const isLater = run.lockedUntil! >= until && run.lockedUntil! <= until + length;
    if (!isLater) run.lockedUntil = until;
    return true;
  }

  start(lease: ModelLease): boolean {
    const run = this.#held(lease);
    if (run) run.startedAt ??= this.now;
    return run !== undefined;
  }

  reap(limit: number, crashCap: number): { id: number; state: string; crashed: boolean }[] {
    const expired = this.runs
      .filter((run) => run.state === "running" && run.lockedUntil! < this.now)
      .sort((a, b) => a.lockedUntil! - b.lockedUntil! || a.id - b.id)
      .slice(0, limit);
    const chains = Map.groupBy(expired, ({ worker, token }) => `${worker} ${token}`);
    const isAmbiguous = ({ worker, token }: ModelRun) =>
      isChain(token) && chains.get(`${worker} ${token}`)!.length > 1;
    const ambiguous = new Set(expired.filter(isAmbiguous));
    return expired.map((run) => {
      const crashed = run.startedAt !== null && !ambiguous.has(run);
      const isSuspect = !crashed && run.crashes === 0 && !run.suspect;
      if (isSuspect) {
        run.suspect = true;
        run.tries.push("lost");
      }
      if (crashed) {
        run.crashes++;
        run.tries.push("crashed");
      }
      if (run.cancelRequested) this.#end(run, "cancelled", true);
      else if (crashed && run.crashes >= crashCap) this.#end(run, "failed", true);
      else this.#wait(run, 0, crashed || isSuspect);
      return { id: run.id, state: run.state, crashed };
    });
  }

  cancel(id: number): string | null {
    const run = this.runs.find((one) => one.id === id);
    if (!run) return null;
    if (run.state === "running") {
      run.cancelRequested = true;
      return "requested";
    }
    if (run.state !== "ready" && run.state !== "scheduled") return run.state;
    this.#end(run, "cancelled", true);
    return "ended";
  }

  move(id: number, runAt: number): string | null {
    const run = this.runs.find((one) => one.id === id);
    if (!run) return null;
    if (run.state !== "ready" && run.state !== "scheduled") return run.state;
    run.runAt = runAt;
    run.state = runAt > this.now ? "scheduled" : "ready";
    return "moved";
  }

  revive(id: number): string | null {
    const run = this.runs.find((one) => one.id === id);
    if (!run) return null;
    if (run.state === "ready" || run.state === "scheduled" || run.state === "running") return run.state;
    run.state = "ready";
    run.runAt = this.now;
    run.worker = null;
    run.startedAt = null;
    run.suspect = false;
    return "revived";
  }

  remove(id: number): string | null {
    const run = this.runs.find((one) => one.id === id);
    if (!run) return null;
    if (run.state === "running") return "running";
    this.runs = this.runs.filter((one) => one !== run);
    return "removed";
  }

  cancelledOf(worker: string): number[] {
    return this.runs
      .filter((run) => run.state === "running" && run.cancelRequested && run.worker === worker)
      .map(({ id }) => id);
  }

  /** The number that a status shows for a queue. */
  shown(state: RunState, queue: string): number {
    return this.runs.filter((run) => shownState(run) === state && run.queue === queue).length;
  }
}

/** The state of a run as users see it: a claimed run is ready until its start is written. */
export function shownState({ state, startedAt }: ModelRun): RunState {
  return state === "running" && startedAt === null ? "ready" : state;
}
