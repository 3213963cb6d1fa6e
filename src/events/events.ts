import { channel } from "node:diagnostics_channel";
import { isOutage } from "../errors.ts";
import { type Failure, toFailure } from "../run/failure.ts";
import { type Clock, systemClock } from "../time.ts";
import type { Logger } from "./logger.ts";
import { Outage } from "./outage.ts";

interface RunEvent {
  id: number;
  name: string;
  queue: string;
}

interface AttemptEvent extends RunEvent {
  attempt: number;
}

interface AttemptEndEvent extends AttemptEvent {
  /** Duration of the attempt in milliseconds. */
  duration: number;
}

/** The counts of the batch's members at that moment. */
interface BatchEvent {
  id: number;
  name: string;
  total: number;
  completed: number;
  failed: number;
  cancelled: number;
  skipped: number;
}

/** Every event with its payload. Each is also published on the diagnostics channel `punctual:<event>`. */
export interface Events {
  "run.dispatched": RunEvent & { inserted: boolean; runAt: Date };
  /** `waited`: milliseconds between the run's due time and its claim. */
  "run.started": AttemptEvent & { waited: number };
  "run.logged": AttemptEvent & { message: string; data: unknown };
  "run.completed": AttemptEndEvent & { result: unknown };
  "run.retried": AttemptEndEvent & { error: Failure; delay: number };
  "run.failed": AttemptEndEvent & { error: Failure };
  "run.skipped": AttemptEndEvent & { reason: string | null };
  "run.cancelled": AttemptEndEvent & { reason: string | null };
  /** `slowedDown`: by `run.slowDown()`; `delay` is how long the rate of the run is closed at least. */
  "run.snoozed": AttemptEndEvent & { delay: number; slowedDown?: true };
  "run.released": AttemptEndEvent;
  /**
   * The outcome of the attempt was not written: its lease was lost, or the database did not answer before the worker
   * stopped.
   */
  "run.lost": AttemptEvent & { reason: "lease" | "database" };
  /** A lease expired and a janitor reaped the run; `state` is the run's new state. */
  "run.reaped": AttemptEndEvent & {
    worker: string | null;
    state: "ready" | "failed" | "cancelled";
    crashed: boolean;
  };
  /** The first member of a batch has failed for good. */
  "batch.failed": BatchEvent;
  /** All members of a batch have ended; its callbacks were dispatched in the same transaction. */
  "batch.finished": BatchEvent;
  /** A schedule ticked: the runs created, and the number of ticks missed. */
  "schedule.ticked": {
    schedule: number;
    job: string;
    runs: { id: number; scheduledFor: Date }[];
    missed: number;
  };
  "worker.started": {
    worker: string;
    parallel: number;
    /** Null: all queues except `exceptQueues`. */
    queues: string[] | null;
    exceptQueues: string[];
    /** Null: queues are not weighted. */
    weights: Record<string, number> | null;
    /** Whether the worker ticks schedules. */
    schedules: boolean;
  };
  /** The worker's loop has completed a turn. A healthy worker emits it at least twice a minute. */
  "worker.turned": { worker: string };
  /** An operator has paused the worker: it claims nothing until it is resumed. */
  "worker.paused": { worker: string; by: string | null; reason: string | null };
  "worker.resumed": { worker: string };
  "worker.stopping": { worker: string; running: number };
  /** `unwritten`: ids of runs whose outcome could not be written, because the database did not answer in time. */
  "worker.stopped": { worker: string; ran: number; unwritten: number[] };
  /** A child process of the supervisor has loaded the definitions and accepts runs. */
  "child.started": { number: number; pid: number };
  /** A child process has exited; `runs`: the number of runs it had not finished. */
  "child.exited": { number: number; pid: number; code: number | null; signal: string | null; runs: number };
  /** A child process gets no more runs and exits when its current ones have finished. */
  "child.retired": { number: number; pid: number; reason: string };
  /** An operator did something, on the dashboard or by a command: an entry of the audit trail. */
  "operator.acted": {
    at: Date;
    user: string | null;
    role: string | null;
    action: string;
    target: string;
    details: unknown;
    source: string;
  };
  /** The database has become unavailable. Emitted once per outage. */
  "database.unavailable": { error: unknown; during: string };
  /** Every operation that has failed since `database.unavailable` has succeeded again; `duration` in milliseconds. */
  "database.available": { duration: number };
  /** An operation failed that no caller awaits. */
  error: { error: unknown; during: string };
}

export type EventName = keyof Events;

/** Emits the events of an instance to its listeners and diagnostics channels, and logs errors that no caller awaits. */
export class Emitter {
  readonly #listeners = new Map<EventName, Set<(event: never) => void>>();
  /** The emitter that has adopted the listeners of this one. */
  #adopter: Emitter | null = null;
  readonly #channels = new Map<EventName, ReturnType<typeof channel>>();
  readonly #logger: Logger;
  readonly outage: Outage;

  constructor(logger: Logger, clock: Clock = systemClock) {
    this.#logger = logger;
    this.outage = new Outage(clock, logger, this);
  }

  /** Adds a listener. Returns a function that removes it. */
  on<Name extends EventName>(name: Name, listener: (event: Events[Name]) => void): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners);
    listeners.add(listener);
    return () => this.#forget(name, listener);
  }

  /** Adds the listeners of another emitter to this one. */
  adopt(other: Emitter): void {
    other.#adopter = this;
    for (const [name, listeners] of other.#listeners)
      for (const listener of listeners) this.on(name, listener as never);
  }

  #forget(name: EventName, listener: (event: never) => void): void {
    this.#listeners.get(name)?.delete(listener);
    if (this.#adopter) this.#adopter.#forget(name, listener);
  }

  /**
   * Whether the event has a listener or a channel subscriber. Callers that emit once per run check it before
   * they build the event.
   */
  hasListeners(name: EventName): boolean {
    return (this.#listeners.get(name)?.size ?? 0) > 0 || this.#channel(name).hasSubscribers;
  }

  /** Calls the listeners and publishes on the channel. Never throws: errors of listeners are logged. */
  emit<Name extends EventName>(name: Name, event: Events[Name]): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      const logFault = (error: unknown) =>
        this.#logger.error(`a listener for "${name}" threw: ${toFailure(error).message}`);
      try {
        const returned = (listener as (event: Events[Name]) => unknown)(event);
        if (returned instanceof Promise) returned.catch(logFault);
      } catch (error) {
        logFault(error);
      }
    }
    const published = this.#channel(name);
    if (published.hasSubscribers) published.publish(event);
  }

  /**
   * Logs an error that no caller awaits and emits `error`. Logs at debug level if the error belongs to an outage that
   * is logged already.
   */
  report(error: unknown, during: string): void {
    const level = this.outage.isOn && isOutage(error) ? "debug" : "error";
    this.#logger[level](`${during}: ${toFailure(error).message}`);
    this.emit("error", { error, during });
  }

  /** Reports the failure of a duty, and records it for the outage. */
  failed(error: unknown, duty: string): void {
    this.outage.failed(duty, error);
    this.report(error, duty);
  }

  /** Records that a duty has succeeded, which may end an outage. */
  succeeded(duty: string): void {
    if (this.outage.isOn) this.outage.succeeded(duty);
  }

  #channel(name: EventName): ReturnType<typeof channel> {
    let found = this.#channels.get(name);
    if (!found) {
      found = channel(`punctual:${name}`);
      this.#channels.set(name, found);
    }
    return found;
  }
}
