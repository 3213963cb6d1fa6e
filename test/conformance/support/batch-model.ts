import type { BatchCounts, BatchMoment } from "../../../src/store/batches.ts";

type MemberState = "waiting" | "running" | "completed" | "failed" | "cancelled" | "skipped";
type End = Exclude<MemberState, "waiting" | "running">;

export interface ModelMember {
  id: number;
  batch: number;
  state: MemberState;
  /** Whether a row of it exists, in `runs` or in history. */
  isKept: boolean;
  token: string | null;
  lockedUntil: number;
  isStarted: boolean;
  isEndRequested: boolean;
  crashes: number;
}

export interface ModelBatch extends BatchCounts {
  id: number;
  cancels: boolean;
  isSealed: boolean;
  isCancelled: boolean;
  isFinished: boolean;
  /** Whether its first failure was reported. */
  hasFailed: boolean;
  /** The callbacks that were dispatched, in order. */
  dispatched: BatchMoment[];
}

/** Batches in their simplest form: every member in one list, and counts that are moved by hand. */
export class BatchModel {
  now: number;
  readonly batches: ModelBatch[] = [];
  readonly members: ModelMember[] = [];

  constructor(now: number) {
    this.now = now;
  }

  find(id: number): ModelBatch | undefined {
    return this.batches.find((batch) => batch.id === id);
  }

  of(batch: ModelBatch, state?: MemberState): ModelMember[] {
    return this.members.filter((one) => one.batch === batch.id && (!state || one.state === state));
  }

  create(id: number, ids: number[], { cancels, seal }: { cancels: boolean; seal: boolean }): void {
    this.batches.push({
      ...{ id, cancels, isSealed: seal, isCancelled: false, isFinished: false, hasFailed: false },
      ...{ added: 0, completed: 0, failed: 0, cancelled: 0, skipped: 0, dispatched: [] },
    });
    this.#join(this.find(id)!, ids);
  }

  /** Why members are refused; undefined: they are not. */
  refusal(batch: ModelBatch, byMember: boolean): "finished" | "cancelled" | "sealed" | undefined {
    if (batch.isFinished) return "finished";
    if (batch.isCancelled) return "cancelled";
    return batch.isSealed && !byMember ? "sealed" : undefined;
  }

  add(batch: ModelBatch, ids: number[], seal: boolean): void {
    batch.isSealed ||= seal;
    this.#join(batch, ids);
  }

  #join(batch: ModelBatch, ids: number[]): void {
    batch.added += ids.length;
    for (const id of ids)
      this.members.push({
        ...{ id, batch: batch.id, state: "waiting", isKept: true, token: null, lockedUntil: 0 },
        ...{ isStarted: false, isEndRequested: false, crashes: 0 },
      });
    this.#look(batch);
  }

  seal(batch: ModelBatch): boolean {
    const wasOpen = !batch.isSealed;
    batch.isSealed = true;
    this.#look(batch);
    return wasOpen;
  }

  /** As a process that dies after its first statement. */
  markCancelled(batch: ModelBatch): void {
    batch.isCancelled = true;
    batch.isSealed = true;
  }

  cancel(batch: ModelBatch): { cancelled: number; requested: number[] } {
    this.markCancelled(batch);
    const running = this.of(batch, "running").filter((one) => !one.isEndRequested);
    const waiting = this.of(batch, "waiting");
    for (const one of running) one.isEndRequested = true;
    for (const one of waiting) this.#end(one, "cancelled");
    this.#look(batch);
    return { cancelled: waiting.length, requested: running.map(({ id }) => id) };
  }

  retry(batch: ModelBatch): number {
    const ended = this.of(batch).filter(
      ({ state, isKept }) => isKept && (state === "failed" || state === "cancelled"),
    );
    if (ended.length === 0) return 0;
    batch.isCancelled = false;
    batch.isFinished = false;
    for (const one of ended) this.revive(one);
    batch.hasFailed = false;
    this.#look(batch);
    return ended.length;
  }

  revive(member: ModelMember): void {
    this.find(member.batch)![member.state as End]--;
    member.state = "waiting";
  }

  claim(member: ModelMember, token: string, lockedUntil: number): void {
    const isStarted = member.crashes === 0;
    Object.assign(member, { state: "running", token, lockedUntil, isStarted, isEndRequested: false });
    const { isCancelled, isFinished } = this.find(member.batch)!;
    member.isEndRequested = isCancelled && !isFinished;
  }

  /** Ends an attempt. Returns how the run was written. */
  settle(member: ModelMember, end: End | "waiting", isKept: boolean): true | "cancelled" {
    const isCancelled = end === "waiting" && member.isEndRequested;
    if (end === "waiting" && !isCancelled) this.#wait(member);
    else {
      member.isKept = isKept;
      this.#end(member, end === "waiting" ? "cancelled" : end);
    }
    this.#look(this.find(member.batch)!);
    return isCancelled ? "cancelled" : true;
  }

  reap(crashCap: number): void {
    const expired = this.members.filter((one) => one.state === "running" && one.lockedUntil < this.now);
    for (const one of expired) {
      if (one.isStarted) one.crashes++;
      if (one.isEndRequested) this.#end(one, "cancelled");
      else if (one.isStarted && one.crashes >= crashCap) this.#end(one, "failed");
      else this.#wait(one);
    }
    // Only these: what a dead process left of other batches is found by the sweep.
    for (const batch of new Set(expired.map((one) => one.batch))) this.#look(this.find(batch)!);
  }

  cancelMember(member: ModelMember): void {
    if (member.state === "running") member.isEndRequested = true;
    else this.#end(member, "cancelled");
    this.#look(this.find(member.batch)!);
  }

  remove(member: ModelMember): void {
    const wasWaiting = member.state === "waiting";
    if (wasWaiting) this.#end(member, "cancelled");
    member.isKept = false;
    if (wasWaiting) this.#look(this.find(member.batch)!);
  }

  prune(): void {
    for (const one of this.members)
      if (one.state !== "waiting" && one.state !== "running") one.isKept = false;
  }

  sweep(): void {
    for (const batch of this.batches) if (batch.isCancelled && !batch.isFinished) this.cancel(batch);
  }

  #wait(member: ModelMember): void {
    Object.assign(member, { state: "waiting", token: null, isEndRequested: false });
  }

  #end(member: ModelMember, state: End): void {
    Object.assign(member, { state, token: null, isEndRequested: false });
    this.find(member.batch)![state]++;
  }

  #look(batch: ModelBatch): void {
    if (batch.isFinished) return;
    const isOver = this.of(batch).every(({ state }) => state !== "waiting" && state !== "running");
    const finishes = batch.isSealed && isOver;
    const fails = batch.failed > 0 && !batch.hasFailed;
    const succeeds = finishes && batch.failed === 0 && batch.cancelled === 0 && !batch.isCancelled;
    if (succeeds) batch.dispatched.push("success");
    if (fails) batch.dispatched.push("failure");
    if (finishes) batch.dispatched.push("finish");
    batch.hasFailed ||= fails;
    batch.isFinished = finishes;
    // A failure also continues the cancellation of a process that has died.
    if (fails && !finishes && (batch.cancels || batch.isCancelled)) this.cancel(batch);
  }
}
