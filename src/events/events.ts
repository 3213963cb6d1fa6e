import { channel } from "node:diagnostics_channel";
import { isOutage } from "../errors.ts";
import { type Failure, toFailure } from "../run/failure.ts";
import { type Clock, systemClock } from "../time.ts";
import type { Logger } from "./logger.ts";
import { Outage } from "./outage.ts";

interface OfRun {
  id: number;
  name: string;
  queue: string;
}

interface OfAttempt extends OfRun {
  attempt: number;
}

interface OfSettled extends OfAttempt {
  /** Milliseconds the attempt took. */
  duration: number;
}

/** Every event, with what its listeners get. Each is also published on the diagnostics channel `punctual:<event>`. */
export interface Events {
  "run.dispatched": OfRun & { inserted: boolean; runAt: Date };
  /** `waited`: milliseconds from when it was due to its claim. */
  "run.started": OfAttempt & { waited: number };
  "run.logged": OfAttempt & { message: string; data: unknown };
  "run.completed": OfSettled & { result: unknown };
  "run.retried": OfSettled & { error: Failure; delay: number };
  "run.failed": OfSettled & { error: Failure };
  "run.skipped": OfSettled & { reason: string | null };
  "run.cancelled": OfSettled & { reason: string | null };
  "run.snoozed": OfSettled & { delay: number };
  "run.released": OfSettled;
  /** The outcome of the attempt was not written: its lease was lost, or the database did not answer before the worker ended. */
  "run.lost": OfAttempt;
  /** A lease ended without its worker; `state` is what became of the run. */
  "run.reaped": OfSettled & {
    worker: string | null;
    state: "ready" | "failed" | "cancelled";
    crashed: boolean;
  };
  /** A schedule's moment came: the runs made for it, and how many ticks got none. */
  "schedule.ticked": {
    schedule: number;
    job: string;
    runs: { id: number; scheduledFor: Date }[];
    missed: number;
  };
  "worker.started": {
    worker: string;
    parallel: number;
    /** Null: all but `exceptQueues`. */
    queues: string[] | null;
    exceptQueues: string[];
    /** Null: no shares. */
    weights: Record<string, number> | null;
    /** Whether it ticks. */
    schedules: boolean;
  };
  /** Its loop came round: it has claimed, settled or slept. At least twice a minute, unless something holds it. */
  "worker.turned": { worker: string };
  "worker.stopping": { worker: string; running: number };
  /** `unwritten`: runs whose outcomes it could not write, for the database did not answer in time. */
  "worker.stopped": { worker: string; ran: number; unwritten: number[] };
  /** A child process of the supervisor has loaded the definitions and takes runs. */
  "child.started": { number: number; pid: number };
  /** A child process is gone; `runs`: how many it had not finished. */
  "child.exited": { number: number; pid: number; code: number | null; signal: string | null; runs: number };
  /** A child process gets nothing more and ends when it has finished what it has. */
  "child.retired": { number: number; pid: number; reason: string };
  /** A worker cannot use its database: once for each outage, whatever fails meanwhile. */
  "database.unavailable": { error: unknown; during: string };
  /** Everything that failed since `database.unavailable` has succeeded; `duration` in milliseconds. */
  "database.available": { duration: number };
  /** Something went wrong that nobody awaited. */
  error: { error: unknown; during: string };
}

export type EventName = keyof Events;

export class Emitter {
  readonly #listeners = new Map<EventName, Set<(event: never) => void>>();
  #taker: Emitter | null = null;
  readonly #channels = new Map<EventName, ReturnType<typeof channel>>();
  readonly #logger: Logger;
  readonly outage: Outage;

  constructor(logger: Logger, clock: Clock = systemClock) {
    this.#logger = logger;
    this.outage = new Outage(clock, logger, this);
  }

  on<Name extends EventName>(name: Name, listener: (event: Events[Name]) => void): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners);
    listeners.add(listener);
    return () => this.#forget(name, listener);
  }

  /** Its listeners listen here from now on. */
  take(other: Emitter): void {
    other.#taker = this;
    for (const [name, listeners] of other.#listeners)
      for (const listener of listeners) this.on(name, listener as never);
  }

  #forget(name: EventName, listener: (event: never) => void): void {
    this.#listeners.get(name)?.delete(listener);
    if (this.#taker) this.#taker.#forget(name, listener);
  }

  /** Whether anybody would hear it: an event for each run is only made when somebody listens. */
  hears(name: EventName): boolean {
    return (this.#listeners.get(name)?.size ?? 0) > 0 || this.#channel(name).hasSubscribers;
  }

  /** Never throws: a listener's fault is logged and stays the listener's. */
  emit<Name extends EventName>(name: Name, event: Events[Name]): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      const faulty = (error: unknown) =>
        this.#logger.error(`a listener for "${name}" threw: ${toFailure(error).message}`);
      try {
        const returned = (listener as (event: Events[Name]) => unknown)(event);
        if (returned instanceof Promise) returned.catch(faulty);
      } catch (error) {
        faulty(error);
      }
    }
    const published = this.#channel(name);
    if (published.hasSubscribers) published.publish(event);
  }

  /** A fault that nobody awaits: told to listeners and to the log, never to `unhandledRejection`. */
  report(error: unknown, during: string): void {
    const level = this.outage.isOn && isOutage(error) ? "debug" : "error";
    this.#logger[level](`${during}: ${toFailure(error).message}`);
    this.emit("error", { error, during });
  }

  /** As `report`, of a duty that is tried again and again: while the database is away, all of them are one outage. */
  failed(error: unknown, duty: string): void {
    this.outage.failed(duty, error);
    this.report(error, duty);
  }

  /** A duty that may have failed before has succeeded. */
  succeeded(duty: string): void {
    if (this.outage.isOn) this.outage.succeeded(duty);
  }

  #channel(name: EventName): ReturnType<typeof channel> {
    const found = this.#channels.get(name) ?? channel(`punctual:${name}`);
    this.#channels.set(name, found);
    return found;
  }
}
