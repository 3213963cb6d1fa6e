import { keyIn } from "./lanes.ts";

/** Returns how many runs of a lane start in one turn, at least 1. `key` is empty for runs without a key. */
export type LaneWeight = (key: string, job: string) => number;

/** A lane of a queue at one priority. */
export interface RotationLane {
  queue: string;
  priority: number;
  lane: string;
  /** Name of the job; absent: it is not known, and a key is whatever follows the first bar of the lane. */
  name?: string;
}

/** Position of a run in the order of a fair queue. */
export interface RotationPosition {
  priority: number;
  /** Number of turns of its lane before the one that the run is in. */
  round: number;
  /** 0: the lane whose turn has begun, 1: a lane behind it, 2: a lane before it, whose turn comes after all others. */
  lap: 0 | 1 | 2;
  lane: string;
  nth: number;
}

/** The lane that had the last turn, and how many runs it has used of this turn. */
interface LastTurn {
  lane: string;
  used: number;
}

/** Most queues and priorities whose last turn is remembered. The oldest one beyond that starts over. */
const REMEMBERED = 1000;

/**
 * The order of runs in fair queues. Within a priority, lanes take turns in the order of their names, and in its turn a
 * lane starts as many runs as its weight. The rotation remembers which lane had the last turn. Processes share no state
 * for it: if each worker is fair by itself, all of them together are.
 */
export class Rotation {
  readonly #queues: ReadonlyMap<string, LaneWeight | null>;
  readonly #random: () => number;
  readonly #last = new Map<string, LastTurn>();

  /** `queues`: the fair queues with the weights of their lanes; null: 1 each. */
  constructor(queues: ReadonlyMap<string, LaneWeight | null>, random: () => number) {
    this.#queues = queues;
    this.#random = random;
  }

  isFair(queue: string): boolean {
    return this.#queues.has(queue);
  }

  weightOf({ queue, lane, name }: Pick<RotationLane, "queue" | "lane" | "name">): number {
    const weight = this.#queues.get(queue);
    if (!weight) return 1;
    const job = name ?? jobIn(lane);
    return weight(keyIn(lane, job) ?? "", job);
  }

  /** Returns the lane that had the last turn, if its turn is not over. */
  unfinished(queue: string, priority: number): string | null {
    const turn = this.#last.get(turnKey(queue, priority));
    return turn && turn.used < this.weightOf({ queue, lane: turn.lane }) ? turn.lane : null;
  }

  /** Returns the lane that had the last turn; null: none had one yet. */
  last(queue: string, priority: number): string | null {
    return this.#last.get(turnKey(queue, priority))?.lane ?? null;
  }

  /** Returns the position of the nth run of a lane, from 0 on. It does not depend on runs that were not read yet. */
  positionOf(at: RotationLane, nth: number): RotationPosition {
    const { queue, priority, lane } = at;
    const turn = this.#last.get(turnKey(queue, priority));
    const weight = this.weightOf(at);
    const isUnfinished = turn?.lane === lane && turn.used < weight;
    const round = Math.floor((nth + (isUnfinished ? turn.used : 0)) / weight);
    const lap = isUnfinished ? 0 : turn === undefined || compareLanes(lane, turn.lane) > 0 ? 1 : 2;
    return { priority, round, lap, lane, nth };
  }

  /**
   * Returns the runs with those of fair queues in turn. `sorted` is in the order of claims. The positions of a queue in
   * the list stay, so the order between queues stays as well.
   */
  arrange<Run extends RotationLane>(sorted: Run[]): Run[] {
    const fair = Map.groupBy(
      sorted.filter(({ queue }) => this.isFair(queue)),
      ({ queue }) => queue,
    );
    if (fair.size === 0) return sorted;
    const next = new Map([...fair].map(([queue, runs]) => [queue, this.#inRotation(runs).values()]));
    return sorted.map((run) => next.get(run.queue)?.next().value?.run ?? run);
  }

  /** As `arrange`, but of a lane in a fair queue only the runs of its next turn. */
  firstRound<Run extends RotationLane>(sorted: Run[]): Run[] {
    const later = new Set(
      this.#inRotation(sorted.filter(({ queue }) => this.isFair(queue)))
        .filter(({ position }) => position.round > 0)
        .map(({ run }) => run),
    );
    return this.arrange(sorted).filter((run) => !later.has(run));
  }

  #inRotation<Run extends RotationLane>(runs: Run[]): { run: Run; position: RotationPosition }[] {
    const seen = new Map<string, number>();
    return runs
      .map((run) => {
        const key = laneKey(run);
        const nth = seen.get(key) ?? 0;
        seen.set(key, nth + 1);
        return { run, position: this.positionOf(run, nth) };
      })
      .sort((a, b) => compareInRotation(a.position, b.position));
  }

  /** Records runs that were taken, in their order. */
  took(runs: RotationLane[]): void {
    for (const run of runs) {
      if (!this.isFair(run.queue)) continue;
      const key = turnKey(run.queue, run.priority);
      const turn = this.#last.get(key);
      const continues = turn?.lane === run.lane && turn.used < this.weightOf(run);
      this.#set(key, { lane: run.lane, used: continues ? turn.used + 1 : 1 });
    }
  }

  /** Ends the turn at this lane: the next turn is that of the lane behind it. */
  pass({ queue, priority, lane }: RotationLane): void {
    this.#set(turnKey(queue, priority), { lane, used: Number.POSITIVE_INFINITY });
  }

  /**
   * Begins at a random lane where no lane had a turn yet: processes that each end after some runs would otherwise all
   * start the runs of the same lanes. `lanes` are the first ones of a queue.
   */
  begin(queue: string, lanes: Omit<RotationLane, "queue">[]): void {
    for (const [priority, some] of Map.groupBy(lanes, (one) => one.priority)) {
      if (this.#last.has(turnKey(queue, priority))) continue;
      const { lane } = some[Math.floor(this.#random() * some.length)]!;
      this.pass({ queue, priority, lane });
    }
  }

  #set(key: string, turn: LastTurn): void {
    this.#last.delete(key);
    this.#last.set(key, turn);
    if (this.#last.size > REMEMBERED) this.#last.delete(this.#last.keys().next().value!);
  }
}

export function compareInRotation(a: RotationPosition, b: RotationPosition): number {
  return (
    a.priority - b.priority ||
    a.round - b.round ||
    a.lap - b.lap ||
    compareLanes(a.lane, b.lane) ||
    a.nth - b.nth
  );
}

/** Compares lanes as the databases do: by code points. JavaScript compares by UTF-16 units. */
function compareLanes(a: string, b: string): number {
  if (a === b) return 0;
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Identifies a lane within its queue and priority. */
export function laneKey({
  queue,
  priority,
  lane,
}: Pick<RotationLane, "queue" | "priority" | "lane">): string {
  return JSON.stringify([queue, priority, lane]);
}

function turnKey(queue: string, priority: number): string {
  return `${priority} ${queue}`;
}

/** Returns the job of a lane whose job is not known. The name of a job may contain a bar; then the key is wrong. */
function jobIn(lane: string): string {
  const bar = lane.indexOf("|");
  return bar < 0 ? lane : lane.slice(0, bar);
}
