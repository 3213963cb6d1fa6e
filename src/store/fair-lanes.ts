import { compareInRotation, type Rotation } from "../run/rotation.ts";

/** Most lanes of a fair queue in which one claim looks. */
const MOST_FAIR_LANES = 512;

/** Lanes to list beyond the number of wanted runs: some have no run that the claim may take. */
const SPARE_LANES = 8;

/** Candidates under limits to read of all lanes of a queue together, at least. */
const FEWEST_CANDIDATES = 128;

export interface FairLane {
  priority: number;
  lane: string;
}

/** Lanes of a fair queue in which a claim looks, in turn. */
export interface FairLanes {
  queue: string;
  lanes: FairLane[];
  /** Whether these are all lanes with ready runs. */
  isComplete: boolean;
}

/** Divides queues into the fair ones and the others. */
export function splitFair(queues: string[], rotation: Rotation | null | undefined): [string[], string[]] {
  const fair = rotation ? queues.filter((queue) => rotation.isFair(queue)) : [];
  return [fair, fair.length > 0 ? queues.filter((queue) => !fair.includes(queue)) : queues];
}

/** How many lanes to list for a claim of this size. */
export function lanesToList(wanted: number): number {
  return Math.min(MOST_FAIR_LANES, wanted + SPARE_LANES);
}

/**
 * Chooses the lanes in which a claim looks. `head` has the first lanes of the queue, at most `most`.
 *
 * If the queue has more lanes, `head` ends in the middle of a priority. In that priority, the lanes behind the one that
 * had the last turn come first, and `head` may lack them. The caller then reads the lanes behind `missing` as well, and
 * passes them to `join`.
 */
export class LaneList {
  readonly #rotation: Rotation;
  readonly #queue: string;
  readonly #head: FairLane[];
  readonly #most: number;
  /** The lane behind which the caller must read too; null: `head` has every lane that it needs. */
  readonly missing: FairLane | null;

  constructor(rotation: Rotation, queue: string, head: FairLane[], most: number) {
    this.#rotation = rotation;
    this.#queue = queue;
    this.#head = head;
    this.#most = most;
    rotation.begin(queue, head);
    const { priority } = head.at(-1) ?? { priority: 0 };
    const lane = this.#isComplete ? null : rotation.last(queue, priority);
    this.missing = lane === null ? null : { priority, lane };
  }

  get #isComplete(): boolean {
    return this.#head.length < this.#most;
  }

  /** Returns the lanes in turn. `behind`: the lanes behind `missing`. */
  join(behind: FairLane[]): FairLanes {
    const queue = this.#queue;
    const { missing } = this;
    const isOpen = missing !== null && this.#rotation.unfinished(queue, missing.priority) === missing.lane;
    // Worse priorities are left out: lanes of the last priority may be missing between the head and `missing`.
    const further = behind.filter(({ priority }) => priority === missing?.priority);
    const all = [...this.#head, ...(isOpen ? [missing] : []), ...further];
    const distinct = new Map(all.map((one) => [`${one.priority} ${one.lane}`, one]));
    const lanes = [...distinct.values()]
      .map((lane) => ({ lane, position: this.#rotation.positionOf({ queue, ...lane }, 0) }))
      .sort((a, b) => compareInRotation(a.position, b.position))
      .map(({ lane: { priority, lane } }) => ({ priority, lane }));
    return { queue, lanes: lanes.slice(0, this.#most), isComplete: this.#isComplete };
  }
}

/** Runs to read of a lane. */
export interface LaneShare {
  lane: FairLane;
  /** Runs of the rounds that the claim is expected to take. */
  runs: number;
  /** Whether to read the lane at once. The others are read only if the lanes before them have too few runs. */
  isFirst: boolean;
}

/** Returns how many runs a claim reads of each lane, if it wants this many in all. */
export function laneShares(rotation: Rotation, { queue, lanes }: FairLanes, wanted: number): LaneShare[] {
  const weights = lanes.map(({ lane }) => rotation.weightOf({ queue, lane }));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const rounds = Math.max(1, Math.ceil(wanted / total));
  // The turn of the first lane may have begun.
  const needed = wanted + (weights[0] ?? 0);
  let before = 0;
  return lanes.map((lane, index) => {
    const weight = weights[index]!;
    const isFirst = before < needed;
    before += weight;
    return { lane, runs: Math.min(wanted, rounds * weight), isFirst };
  });
}

/** Returns how many candidates under limits a claim reads of each lane: limits hold some, and it reads only once. */
export function candidateShares(rotation: Rotation, found: FairLanes, wanted: number): LaneShare[] {
  const fewest = Math.ceil(FEWEST_CANDIDATES / Math.max(1, found.lanes.length));
  return laneShares(rotation, found, wanted).map((share) => ({
    ...share,
    // A chain of one turn may be longer than the claim.
    runs: Math.max(share.runs, fewest, rotation.weightOf({ queue: found.queue, lane: share.lane.lane })),
  }));
}
