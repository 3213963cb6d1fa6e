import { isKeyed, keyIn, laneOf } from "../run/lanes.ts";

/** A ready run under limits, with the columns that decide when and whether a claim takes it. */
export interface Candidate {
  id: number;
  name: string;
  lane: string;
  queue: string;
  priority: number;
  run_at: number;
}

/** The columns that decide which limits a run is under. */
export type LimitSubject = Pick<Candidate, "name" | "lane" | "queue">;

/** Limits, and how many runs run under each. A limit of 0 is none. */
export interface LimitUsage {
  /** Whether this claim takes no run of the job: the job is paused, or another process defines it. */
  isClosed(name: string): boolean;
  /** Whether the claiming process can compute the keys of the job's runs. */
  computesKey(name: string): boolean;
  jobLimit(name: string): number;
  keyLimit(name: string): number;
  queueLimit(queue: string): number;
  runningOfJob(name: string): number;
  runningOfLane(name: string, lane: string): number;
  runningOfQueue(queue: string): number;
}

/** Picks runs that fit under every limit at once. A chooser is made for one claim: each run it takes uses up room. */
export class Chooser {
  readonly #usage: LimitUsage;
  /** How many more runs each limit admits, by the names that `limitsOf` returns. */
  readonly #room = new Map<string, number>();

  constructor(usage: LimitUsage) {
    this.#usage = usage;
  }

  hasRoom(run: LimitSubject): boolean {
    return this.#isClaimable(run) && this.limitsOf(run).every((limit) => this.#room.get(limit)! > 0);
  }

  /** Names the limits without room for the run. Empty if they do not matter: this claim takes no such run. */
  fullLimitsOf(run: LimitSubject): string[] {
    if (!this.#isClaimable(run)) return [];
    return this.limitsOf(run).filter((limit) => this.#room.get(limit)! <= 0);
  }

  #isClaimable(run: LimitSubject): boolean {
    if (this.#usage.isClosed(run.name)) return false;
    return !this.lacksKey(run) || this.#usage.computesKey(run.name);
  }

  /** Whether no run of this job in this queue fits, whatever its key. */
  isJobFull({ name, queue }: LimitSubject): boolean {
    return !this.hasRoom({ name, queue, lane: laneOf(name, null) });
  }

  isQueueFull(queue: string): boolean {
    return this.#queueLimits(queue).some((limit) => this.#room.get(limit)! <= 0);
  }

  /** Whether the run's key must be computed before the run can start. Such a run is claimed only for that. */
  lacksKey({ name, lane }: LimitSubject): boolean {
    return !isKeyed(lane, name) && this.#usage.keyLimit(name) > 0;
  }

  take(run: LimitSubject): boolean {
    if (!this.hasRoom(run)) return false;
    for (const limit of this.limitsOf(run)) this.#room.set(limit, this.#room.get(limit)! - 1);
    return true;
  }

  /** Names every limit that the run is under. */
  limitsOf({ name, lane, queue }: LimitSubject): string[] {
    const usage = this.#usage;
    const hasKey = keyIn(lane, name) !== null;
    return [
      ...this.#named(`j:${name}`, usage.jobLimit(name), () => usage.runningOfJob(name)),
      // The name's length tells the job "a" with the key "b|c" from the job "a|b" with the key "c": their lanes are equal.
      ...this.#named(`k:${name.length}:${lane}`, hasKey ? usage.keyLimit(name) : 0, () =>
        usage.runningOfLane(name, lane),
      ),
      ...this.#queueLimits(queue),
    ];
  }

  #queueLimits(queue: string): string[] {
    return this.#named(`q:${queue}`, this.#usage.queueLimit(queue), () => this.#usage.runningOfQueue(queue));
  }

  /** Returns the name of a limit, or nothing if there is no limit. Counts the running runs once for each name. */
  #named(name: string, limit: number, running: () => number): string[] {
    if (limit === 0) return [];
    if (!this.#room.has(name)) this.#room.set(name, limit - running());
    return [name];
  }
}
