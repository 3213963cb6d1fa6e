/** A ready run as the choice under limits sees it. */
export interface Candidate {
  id: number;
  name: string;
  lane: string;
  queue: string;
}

/** What limits there are and how much of each is in use. 0 = no limit. */
export interface Usage {
  isClosed(name: string): boolean;
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
    return !this.#usage.isClosed(run.name) && this.gates(run).every((gate) => this.#room.get(gate)! > 0);
  }

  take(run: Candidate): boolean {
    if (!this.hasRoom(run)) return false;
    for (const gate of this.gates(run)) this.#room.set(gate, this.#room.get(gate)! - 1);
    return true;
  }

  /** Every limit the run is under, each with its room looked up once. */
  gates({ name, lane, queue }: Candidate): string[] {
    const usage = this.#usage;
    const gates: string[] = [];
    const add = (gate: string, limit: number, running: () => number) => {
      if (limit === 0) return;
      if (!this.#room.has(gate)) this.#room.set(gate, limit - running());
      gates.push(gate);
    };
    add(`j:${name}`, usage.jobLimit(name), () => usage.runningOfJob(name));
    // With the length of the name: "a" with the key "b|c" and "a|b" with the key "c" have the same lane.
    if (lane !== name) {
      add(`k:${name.length}:${lane}`, usage.keyLimit(name), () => usage.runningOfLane(name, lane));
    }
    add(`q:${queue}`, usage.queueLimit(queue), () => usage.runningOfQueue(queue));
    return gates;
  }
}
