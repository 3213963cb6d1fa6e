import type { NewAuditEntry, NewMute, PauseNote, WorkerRequest } from "../records.ts";
import { record } from "./audit.ts";
import { mute, unmute } from "./mutes.ts";
import { pauseJob, pauseQueue, pauseSchedule } from "./pause.ts";
import { SqlReads } from "./reads.ts";
import { askWorker } from "./workers.ts";

/** The writes of operators: pauses, requests to workers, mutes and the audit trail. */
export abstract class OperatorStore extends SqlReads {
  async pauseJob(name: string, paused: boolean, note?: PauseNote): Promise<boolean> {
    return pauseJob(this.sql, name, { paused, note }, await this.now());
  }

  async pauseQueue(name: string, paused: boolean, until: number | null, note?: PauseNote): Promise<void> {
    return pauseQueue(this.sql, name, { paused, until, note }, await this.now());
  }

  async pauseSchedule(id: number, paused: boolean, note?: PauseNote): Promise<boolean> {
    return pauseSchedule(this.sql, id, { paused, note }, await this.now());
  }

  async askWorker(
    worker: string,
    action: WorkerRequest["action"] | null,
    note: PauseNote = { by: null, reason: null },
  ): Promise<"asked" | "stopping" | null> {
    const since = await this.now();
    return askWorker(this.sql, worker, action && { action, since, ...note });
  }

  async recordAction(entry: NewAuditEntry): Promise<number> {
    const now = await this.now();
    await record(this.sql, entry, now);
    return now;
  }

  async mute(one: NewMute): Promise<void> {
    return mute(this.sql, one, await this.now());
  }

  async unmute(fingerprint: string): Promise<boolean> {
    return unmute(this.sql, fingerprint, await this.now());
  }
}
