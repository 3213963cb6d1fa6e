import { isKeyed, keyIn, laneOf } from "../run/lanes.ts";

/** A ready run as the choice under limits sees it. */
export interface Candidate {
  id: number;
  name: string;
  lane: string;
  queue: string;
}

/** What limits there are and how much of each is in use. 0 = no limit. */
export interface Usage {
  /** Whether this claim takes no run of the job: it is paused, or another process defines it. */
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

/**
 * Picks greedily, in the order given, what fits under every limit at once. One chooser serves one claim: what it
 * picked counts against the next.
 */
export class Chooser {
  readonly #usage: Usage;
  readonly #room = new Map<string, number>();

  constructor(usage: Usage) {
    this.#usage = usage;
  }

  hasRoom(run: Candidate): boolean {
    if (this.#usage.isClosed(run.name)) return false;
    if (this.lacksKey(run) && !this.#usage.computesKey(run.name)) return false;
    return this.gates(run).every((gate) => this.#room.get(gate)! > 0);
  }

  /** Whether no run of this job in this queue can be taken, whatever its key. */
  isFull({ name, queue }: Candidate): boolean {
    return !this.hasRoom({ id: 0, name, queue, lane: laneOf(name, null) });
  }

  isQueueFull(queue: string): boolean {
    return this.#queueGates(queue).some((gate) => this.#room.get(gate)! <= 0);
  }

  /** Whether its key has to be computed before it can start: it is claimed for that alone. */
  lacksKey({ name, lane }: Candidate): boolean {
    return !isKeyed(lane, name) && this.#usage.keyLimit(name) > 0;
  }

  take(run: Candidate): boolean {
    if (!this.hasRoom(run)) return false;
    for (const gate of this.gates(run)) this.#room.set(gate, this.#room.get(gate)! - 1);
    return true;
  }

  /** Every limit the run is under, each with its room looked up once. */
  gates({ name, lane, queue }: Candidate): string[] {
    const usage = this.#usage;
    const hasKey = keyIn(lane, name) !== null;
    return [
      ...this.#gate(`j:${name}`, usage.jobLimit(name), () => usage.runningOfJob(name)),
      // With the length of the name: "a" with the key "b|c" and "a|b" with the key "c" have the same lane.
      ...this.#gate(`k:${name.length}:${lane}`, hasKey ? usage.keyLimit(name) : 0, () =>
        usage.runningOfLane(name, lane),
      ),
      ...this.#queueGates(queue),
    ];
  }

  #queueGates(queue: string): string[] {
    return this.#gate(`q:${queue}`, this.#usage.queueLimit(queue), () => this.#usage.runningOfQueue(queue));
  }

  /** None where there is no limit. */
  #gate(gate: string, limit: number, running: () => number): string[] {
    if (limit === 0) return [];
    if (!this.#room.has(gate)) this.#room.set(gate, limit - running());
    return [gate];
  }
}
