import { isKeyed, keyIn, laneOf } from "../run/lanes.ts";
import { admits, type Bucket, isSetBack, opensAt, type Rate, room, spend } from "./rate.ts";

/** A ready run under limits, with the columns that decide when and whether a claim takes it. */
export interface Candidate {
  id: number;
  name: string;
  lane: string;
  queue: string;
  priority: number;
  run_at: number;
  /** Cost of its start under a named limit; null: it is not computed, or the job has no function for it. */
  cost: number | null;
}

/** The columns that decide which limits a run is under, and what its start costs. */
export type LimitSubject = Pick<Candidate, "name" | "lane" | "queue"> & Partial<Pick<Candidate, "cost">>;

/** A limit that jobs share by its name. */
export interface NamedLimit {
  name: string;
  /** Most runs at once; 0: no limit. Null: no process has defined the limit, so no run under it starts. */
  limit: number | null;
  /** Running runs of all jobs under it. */
  running: number;
  /** Whether the job computes what the start of a run costs. */
  hasCost: boolean;
}

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
  /** Whether the claiming process can compute what a start of the job's runs costs. */
  computesCost(name: string): boolean;
  jobLimit(name: string): number;
  keyLimit(name: string): number;
  queueLimit(queue: string): number;
  runningOfJob(name: string): number;
  runningOfLane(name: string, lane: string): number;
  runningOfQueue(queue: string): number;
  /** Absent: no run that the claim looks at is under a rate or a named limit. */
  rates?: {
    /** Whether the job has a rate per key. */
    isByKey(name: string): boolean;
    /** Returns the rate that has this name, see `limitsOf`; null: there is none. `subject`: a run under it. */
    of(limit: string, subject: LimitSubject): RateUsage | null;
    /** Returns the named limit that runs of the job are under; null: none. */
    named(job: string): NamedLimit | null;
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
interface LimitRoom {
  /** More runs at once. */
  slots: number;
  /** More starts now. */
  starts: number;
  rate: RateUsage | null;
  /** Starts that this chooser has taken, or what they cost. */
  taken: number;
  /** Cost of the start for which a named limit is kept free during this claim; 0: none. */
  heldFor: number;
}

/** Picks runs that fit under every limit at once. A chooser is made for one claim: each run it takes uses up room. */
export class Chooser {
  readonly #usage: LimitUsage;
  /** By the names that `limitsOf` returns. */
  readonly #rooms = new Map<string, LimitRoom>();
  /** When each closed rate opens, by its name and the cost of the start. */
  readonly #openings = new Map<string, number>();

  constructor(usage: LimitUsage) {
    this.#usage = usage;
  }

  hasRoom(run: LimitSubject): boolean {
    return this.#isClaimable(run) && this.limitsOf(run).every((limit) => !this.#isFull(limit, run));
  }

  /** Names the limits without room for the run. Empty if they do not matter: this claim takes no such run. */
  fullLimitsOf(run: LimitSubject): string[] {
    if (!this.#isClaimable(run)) return [];
    return this.limitsOf(run).filter((limit) => this.#isFull(limit, run));
  }

  #isFull(limit: string, run: LimitSubject): boolean {
    return this.#rooms.get(limit)!.slots <= 0 || this.#isRateClosed(limit, run);
  }

  #isRateClosed(limit: string, run: LimitSubject): boolean {
    const { starts, rate, taken, heldFor } = this.#rooms.get(limit)!;
    if (!rate || !isNamed(limit)) return starts <= 0;
    return heldFor > 0 || !admits(rate.rate, after(rate, taken), rate.now, costOf(run));
  }

  #isClaimable(run: LimitSubject): boolean {
    const usage = this.#usage;
    if (usage.isClosed(run.name)) return false;
    return (
      (!this.#lacksKey(run) || usage.computesKey(run.name)) &&
      (!this.#lacksCost(run) || usage.computesCost(run.name))
    );
  }

  /** Whether no run of this job in this queue fits, whatever its key and its cost. */
  isJobFull({ name, queue }: LimitSubject): boolean {
    return !this.hasRoom({ name, queue, lane: laneOf(name, null), cost: 1 });
  }

  isQueueFull(queue: string): boolean {
    const run = { name: "", lane: "", queue };
    return this.#queueLimits(run).some((limit) => this.#isFull(limit, run));
  }

  /**
   * Whether the run's key or the cost of its start must be computed before the run can start. Such a run is claimed
   * only for that.
   */
  isIncomplete(run: LimitSubject): boolean {
    return this.#lacksKey(run) || this.#lacksCost(run);
  }

  #lacksKey({ name, lane }: LimitSubject): boolean {
    if (isKeyed(lane, name)) return false;
    return this.#usage.keyLimit(name) > 0 || (this.#usage.rates?.isByKey(name) ?? false);
  }

  #lacksCost({ name, cost = null }: LimitSubject): boolean {
    return cost === null && (this.#usage.rates?.named(name)?.hasCost ?? false);
  }

  take(run: LimitSubject): boolean {
    if (!this.hasRoom(run)) {
      this.#keepFree(run);
      return false;
    }
    const isStart = !this.isIncomplete(run);
    for (const limit of this.limitsOf(run)) {
      const room = this.#rooms.get(limit)!;
      const cost = isStart ? this.charge(limit, run) : 0;
      room.slots--;
      room.starts -= cost;
      room.taken += cost;
    }
    return true;
  }

  /**
   * Closes a named limit for the rest of the claim if what is left of its rate is all that keeps the run from starting:
   * cheaper runs behind it would use up what becomes free, and it would starve.
   */
  #keepFree(run: LimitSubject): void {
    const full = this.fullLimitsOf(run);
    const room = full.length === 1 && isNamed(full[0]!) ? this.#rooms.get(full[0]!)! : null;
    if (room?.rate && room.slots > 0 && room.heldFor === 0) room.heldFor = costOf(run);
  }

  /** Returns how much a start of the run counts towards a rate. More than the limit counts as much as the limit. */
  charge(limit: string, run: Pick<LimitSubject, "cost">): number {
    const rate = this.#rooms.get(limit)!.rate;
    return rate && isNamed(limit) ? Math.min(costOf(run), rate.rate.limit) : 1;
  }

  /** Names every limit that the run is under. */
  limitsOf(run: LimitSubject): string[] {
    const { name, lane } = run;
    const usage = this.#usage;
    const job = this.#listed(jobLimitName(name), run, usage.jobLimit(name), () => usage.runningOfJob(name));
    const others = [...this.#namedLimits(run), ...this.#queueLimits(run)];
    if (keyIn(lane, name) === null) return [...job, ...others];
    const key = this.#listed(keyLimitName(run), run, usage.keyLimit(name), () =>
      usage.runningOfLane(name, lane),
    );
    return [...job, ...key, ...others];
  }

  /** Whether the run is under a limit that other jobs may share. */
  isUnderNamed(run: LimitSubject): boolean {
    return this.#namedLimits(run).length > 0;
  }

  #namedLimits(run: LimitSubject): string[] {
    const found = this.#usage.rates?.named(run.name);
    if (!found) return [];
    const { name, limit, running } = found;
    const [most, used] = limit === null ? [1, 1] : [limit, running];
    return this.#listed(namedLimitName(name), run, most, () => used);
  }

  #queueLimits(run: LimitSubject): string[] {
    const { queue } = run;
    return this.#listed(queueLimitName(queue), run, this.#usage.queueLimit(queue), () =>
      this.#usage.runningOfQueue(queue),
    );
  }

  /** Returns the name of a limit, or nothing if there is no limit. Counts the running runs once for each name. */
  #listed(name: string, run: LimitSubject, limit: number, running: () => number): string[] {
    if (this.#rooms.has(name)) return [name];
    const rate = this.#usage.rates?.of(name, run) ?? null;
    if (limit === 0 && rate === null) return [];
    const slots = limit === 0 ? Number.POSITIVE_INFINITY : limit - running();
    const starts = rate ? room(rate.rate, rate.bucket, rate.now) : Number.POSITIVE_INFINITY;
    this.#rooms.set(name, { slots, starts, rate, taken: 0, heldFor: 0 });
    return [name];
  }

  /** Names the rates that a start of the run counts towards. */
  ratesOf(run: LimitSubject): string[] {
    if (!this.#usage.rates || this.isIncomplete(run)) return [];
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
      const closed = this.limitsOf(run).filter((limit) => this.#isRateClosed(limit, run));
      const opening = closed.reduce((last, limit) => Math.max(last, this.#opening(limit, run)), 0);
      if (closed.length > 0) at = Math.min(at, opening);
      // A run under a closed rate cannot start before the opening, whatever else it waits for.
      isAll &&= closed.length > 0;
    }
    return { at, isAll };
  }

  #opening(limit: string, run: LimitSubject): number {
    const { rate, taken, heldFor } = this.#rooms.get(limit)!;
    const cost = isNamed(limit) ? Math.max(costOf(run), heldFor) : 1;
    const key = `${cost} ${limit}`;
    const known = this.#openings.get(key);
    if (known !== undefined) return known;
    const opening = opensAt(rate!.rate, after(rate!, taken), rate!.now, cost);
    this.#openings.set(key, opening);
    return opening;
  }
}

/** Returns the bucket of a rate after starts that cost this much. */
function after({ rate, bucket, now }: RateUsage, taken: number): Bucket {
  return spend(rate, bucket, now, taken);
}

function costOf({ cost }: Pick<LimitSubject, "cost">): number {
  return cost ?? 1;
}

/** Beginnings of the names of limits in `rates`. */
export const LIMIT_KINDS = { job: "j:", key: "k:", named: "r:", queue: "q:" } as const;

export function jobLimitName(name: string): string {
  return `${LIMIT_KINDS.job}${name}`;
}

/** The length tells the job "a" with the key "b|c" from the job "a|b" with the key "c": their lanes are equal. */
export function keyLimitName({ name, lane }: Pick<LimitSubject, "name" | "lane">): string {
  return `${LIMIT_KINDS.key}${name.length}:${lane}`;
}

export function namedLimitName(limit: string): string {
  return `${LIMIT_KINDS.named}${limit}`;
}

function isNamed(limit: string): boolean {
  return limit.startsWith(LIMIT_KINDS.named);
}

export function queueLimitName(queue: string): string {
  return `${LIMIT_KINDS.queue}${queue}`;
}
