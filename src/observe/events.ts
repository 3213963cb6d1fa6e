import { channel } from "node:diagnostics_channel";
import { type Failure, toFailure } from "../run/failure.ts";
import type { Logger } from "./logger.ts";

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
  "run.started": OfAttempt;
  "run.logged": OfAttempt & { message: string; data: unknown };
  "run.completed": OfSettled & { result: unknown };
  "run.retried": OfSettled & { error: Failure; delay: number };
  "run.failed": OfSettled & { error: Failure };
  "run.skipped": OfSettled & { reason: string | null };
  "run.cancelled": OfSettled & { reason: string | null };
  "run.snoozed": OfSettled & { delay: number };
  "run.released": OfSettled;
  /** The lease was lost: what the attempt came to was not written. */
  "run.lost": OfAttempt;
  /** A lease ended without its worker; `state` is what became of the run. */
  "run.reaped": {
    id: number;
    name: string;
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
  "worker.started": { worker: string; parallel: number; queues: string[] | null };
  "worker.stopping": { worker: string; running: number };
  "worker.stopped": { worker: string; ran: number };
  /** Something went wrong that nobody awaited. */
  error: { error: unknown; during: string };
}

export type EventName = keyof Events;

export class Emitter {
  readonly #listeners = new Map<EventName, Set<(event: never) => void>>();
  readonly #channels = new Map<EventName, ReturnType<typeof channel>>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  on<Name extends EventName>(name: Name, listener: (event: Events[Name]) => void): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners);
    listeners.add(listener);
    return () => listeners.delete(listener);
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
    this.#logger.error(`${during}: ${toFailure(error).message}`);
    this.emit("error", { error, during });
  }

  #channel(name: EventName): ReturnType<typeof channel> {
    const found = this.#channels.get(name) ?? channel(`punctual:${name}`);
    this.#channels.set(name, found);
    return found;
  }
}
