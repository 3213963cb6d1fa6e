import { isKeyed, keyIn, laneOf } from "../run/lanes.ts";
import { type Bucket, isSetBack, opensAt, type Rate, room, spend } from "./rate.ts";

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

/** A rate, and the starts that count towards it at a time of the database's clock. */
export interface RateUsage {
  rate: Rate;
  bucket: Bucket;
  /** Whether the bucket has a row. */
  isStored: boolean;
  now: number;
}

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
  /** Absent: no run that the claim looks at is under a rate. */
  rates?: {
    /** Whether the job has a rate per key. */
    isByKey(name: string): boolean;
    /** Returns the rate that has this name, see `limitsOf`; null: there is none. `subject`: a run under it. */
    of(limit: string, subject: LimitSubject): RateUsage | null;
  };
}

/** When a claim can next take a run that it has left because of a rate. */
export interface NextOpening {
  /** Infinity: it has left none because of a rate. */
  at: number;
  /** Whether rates alone hold back all runs that the claim has left. */
  isAll: boolean;
}

/** How many more runs a limit admits. */
interface Room {
  /** More runs at once. */
  slots: number;
  /** More starts now. */
  starts: number;
  rate: RateUsage | null;
  /** Starts that this chooser has taken. */
  taken: number;
}

/** Picks runs that fit under every limit at once. A chooser is made for one claim: each run it takes uses up room. */
export class Chooser {
  readonly #usage: LimitUsage;
  /** By the names that `limitsOf` returns. */
  readonly #rooms = new Map<string, Room>();
  /** When each closed rate opens. */
  readonly #openings = new Map<string, number>();

  constructor(usage: LimitUsage) {
    this.#usage = usage;
  }

  hasRoom(run: LimitSubject): boolean {
    return this.#isClaimable(run) && this.limitsOf(run).every((limit) => !this.#isFull(limit));
  }

  /** Names the limits without room for the run. Empty if they do not matter: this claim takes no such run. */
  fullLimitsOf(run: LimitSubject): string[] {
    if (!this.#isClaimable(run)) return [];
    return this.limitsOf(run).filter((limit) => this.#isFull(limit));
  }

  #isFull(limit: string): boolean {
    const { slots, starts } = this.#rooms.get(limit)!;
    return slots <= 0 || starts <= 0;
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
    return this.#queueLimits({ name: "", lane: "", queue }).some((limit) => this.#isFull(limit));
  }

  /** Whether the run's key must be computed before the run can start. Such a run is claimed only for that. */
  lacksKey({ name, lane }: LimitSubject): boolean {
    if (isKeyed(lane, name)) return false;
    return this.#usage.keyLimit(name) > 0 || (this.#usage.rates?.isByKey(name) ?? false);
  }

  take(run: LimitSubject): boolean {
    if (!this.hasRoom(run)) return false;
    // A run that is claimed for its key does not start.
    const starts = this.lacksKey(run) ? 0 : 1;
    for (const limit of this.limitsOf(run)) {
      const room = this.#rooms.get(limit)!;
      room.slots--;
      room.starts -= starts;
      room.taken += starts;
    }
    return true;
  }

  /** Names every limit that the run is under. */
  limitsOf(run: LimitSubject): string[] {
    const { name, lane } = run;
    const usage = this.#usage;
    const job = this.#named(jobLimitName(name), run, usage.jobLimit(name), () => usage.runningOfJob(name));
    const queue = this.#queueLimits(run);
    if (keyIn(lane, name) === null) return [...job, ...queue];
    const key = this.#named(keyLimitName(run), run, usage.keyLimit(name), () =>
      usage.runningOfLane(name, lane),
    );
    return [...job, ...key, ...queue];
  }

  #queueLimits(run: LimitSubject): string[] {
    const { queue } = run;
    return this.#named(queueLimitName(queue), run, this.#usage.queueLimit(queue), () =>
      this.#usage.runningOfQueue(queue),
    );
  }

  /** Returns the name of a limit, or nothing if there is no limit. Counts the running runs once for each name. */
  #named(name: string, run: LimitSubject, limit: number, running: () => number): string[] {
    if (this.#rooms.has(name)) return [name];
    const rate = this.#usage.rates?.of(name, run) ?? null;
    if (limit === 0 && rate === null) return [];
    const slots = limit === 0 ? Number.POSITIVE_INFINITY : limit - running();
    const starts = rate ? room(rate.rate, rate.bucket, rate.now) : Number.POSITIVE_INFINITY;
    this.#rooms.set(name, { slots, starts, rate, taken: 0 });
    return [name];
  }

  /** Names the rates that a start of the run counts towards. */
  ratesOf(run: LimitSubject): string[] {
    if (!this.#usage.rates || this.lacksKey(run)) return [];
    return this.limitsOf(run).filter((limit) => this.#rooms.get(limit)!.rate !== null);
  }

  /** Returns a rate that `ratesOf` has named, as it was before this claim. */
  rate(limit: string): RateUsage {
    return this.#rooms.get(limit)!.rate!;
  }

  /** Returns the rates whose last start is in the future: the clock was set back. */
  ratesSetBack(): Map<string, RateUsage> {
    const found = new Map<string, RateUsage>();
    for (const [name, { rate }] of this.#rooms)
      if (rate && isSetBack(rate.bucket, rate.now)) found.set(name, rate);
    return found;
  }

  /** Returns when rates admit the first of these runs, which the claim has left ready. */
  nextOpening(left: Iterable<LimitSubject>): NextOpening {
    let at = Number.POSITIVE_INFINITY;
    let isAll = true;
    for (const run of left) {
      if (!this.#isClaimable(run)) continue;
      const rooms = this.limitsOf(run).map((limit) => [limit, this.#rooms.get(limit)!] as const);
      const closed = rooms.filter(([, { starts }]) => starts <= 0);
      const opening = closed.reduce((last, [limit]) => Math.max(last, this.#opening(limit)), 0);
      if (closed.length > 0) at = Math.min(at, opening);
      // A run under a closed rate cannot start before the opening, whatever else it waits for.
      isAll &&= closed.length > 0;
    }
    return { at, isAll };
  }

  #opening(limit: string): number {
    const known = this.#openings.get(limit);
    if (known !== undefined) return known;
    const { rate: usage, taken } = this.#rooms.get(limit)!;
    const { rate, bucket, now } = usage!;
    const opening = opensAt(rate, spend(rate, bucket, now, taken), now);
    this.#openings.set(limit, opening);
    return opening;
  }
}

export function jobLimitName(name: string): string {
  return `j:${name}`;
}

/** The name's length tells the job "a" with the key "b|c" from the job "a|b" with the key "c": their lanes are equal. */
export function keyLimitName({ name, lane }: Pick<LimitSubject, "name" | "lane">): string {
  return `k:${name.length}:${lane}`;
}

export function queueLimitName(queue: string): string {
  return `q:${queue}`;
}
