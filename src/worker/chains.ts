import { isChain } from "../run/chains.ts";
import type { ClaimedRun } from "../store/store.ts";
import type { Result } from "./executor.ts";

/** Ready runs under limits that a claim reads of each queue. */
export const CLAIM_WINDOW = 64;

/** Ready runs that it reads while chains fill the smaller window. */
const LONG_WINDOW = 256;

/** Most runs behind a head: the rest of the window. */
const MOST_BEHIND: number = LONG_WINDOW - 1;

/** A chain is as long as this worker is expected to need for it, in milliseconds. */
const CHAIN_TIME = 50;

/** Longest that a run waits for the runs before it: a chain takes about `CHAIN_TIME`, unless a run of it is slow. */
export const CHAIN_HELD_AT_MOST: number = 2 * CHAIN_TIME;

interface Chain {
  /** The run that may start, runs, or has not returned. */
  current: ClaimedRun;
  followers: ClaimedRun[];
  /** When it was claimed; monotonic. */
  since: number;
  /** Outcomes that wait to be written together with those of the runs behind. */
  outcomes: number;
}

/** How long runs of a job take. */
interface JobDuration {
  runs: number;
  mean: number;
}

/** The chains of one worker. Each run of a chain starts only when the run before it has returned. */
export class Chains {
  readonly #chains = new Map<string, Chain>();
  readonly #durations = new Map<string, JobDuration>();
  /** Length of the longest chain of the last claim that brought one. */
  #longest = 0;

  /** How many ready runs under limits the next claim reads of each queue. */
  get window(): number {
    return this.#longest < CLAIM_WINDOW ? CLAIM_WINDOW : LONG_WINDOW;
  }

  /** Number of runs that wait for the run before them. */
  get waiting(): number {
    let waiting = 0;
    for (const { followers } of this.#chains.values()) waiting += followers.length;
    return waiting;
  }

  get isEmpty(): boolean {
    return this.#chains.size === 0;
  }

  /** Number of outcomes that need not be written yet, because their chains continue. */
  get gathered(): number {
    let gathered = 0;
    for (const { outcomes } of this.#chains.values()) gathered += outcomes;
    return gathered;
  }

  /** Returns the runs that may start, and keeps those behind them. Runs of a chain must be in its order. */
  add(runs: ClaimedRun[], since: number): ClaimedRun[] {
    let longest = 0;
    const startable = runs.filter((run) => {
      if (!isChain(run.token)) return true;
      const chain = this.#chains.get(run.token);
      if (chain) chain.followers.push(run);
      else this.#chains.set(run.token, { current: run, followers: [], since, outcomes: 0 });
      longest = Math.max(longest, 1 + (chain?.followers.length ?? 0));
      return chain === undefined;
    });
    if (longest > 0) this.#longest = longest;
    return startable;
  }

  /** Called when a run has returned, or has left the worker without starting. Returns the run that may start now. */
  next(run: ClaimedRun): ClaimedRun | undefined {
    const chain = this.#chains.get(run.token);
    if (chain?.current !== run) return undefined;
    const next = chain.followers.shift();
    if (next) chain.current = next;
    else this.#chains.delete(run.token);
    return next;
  }

  /** Called when the result of a run is known. */
  ended(run: ClaimedRun, duration: number): void {
    if (!run.limited) return;
    const chain = this.#chains.get(run.token);
    if (chain) chain.outcomes++;
    const known = this.#durations.get(run.name);
    if (!known) this.#durations.set(run.name, { runs: 1, mean: duration });
    else {
      known.runs++;
      // A longer duration counts at once: runs that wait behind a long one could start on another worker.
      known.mean = duration > known.mean ? duration : (known.mean + duration) / 2;
    }
  }

  /** Called when all outcomes so far have been sent. */
  sent(): void {
    for (const chain of this.#chains.values()) chain.outcomes = 0;
  }

  /** Ends the chain of a run, and takes out its waiting runs. */
  takeBehind({ token }: ClaimedRun): ClaimedRun[] {
    const chain = this.#chains.get(token);
    this.#chains.delete(token);
    return chain?.followers ?? [];
  }

  takeIf(wanted: (run: ClaimedRun) => boolean): ClaimedRun[] {
    return [...this.#chains.values()].flatMap((chain) => {
      const taken = chain.followers.filter(wanted);
      if (taken.length > 0) chain.followers = chain.followers.filter((run) => !wanted(run));
      return taken;
    });
  }

  /** Ends the chains that were claimed at `before` or earlier, and takes out their waiting runs. */
  takeWaiting(before: number): ClaimedRun[] {
    const late = [...this.#chains.values()].filter(({ since }) => since <= before);
    return late.flatMap(({ current }) => this.takeBehind(current));
  }

  /** Returns how many runs of a job may be claimed behind one. Grows with the number of runs that were measured. */
  behind(name: string): number {
    const known = this.#durations.get(name);
    return known ? Math.min(MOST_BEHIND, known.runs, Math.floor(CHAIN_TIME / known.mean)) : 0;
  }
}

/** Whether a run may be claimed again at once: the runs behind it must not start before it. */
export function goesBack(result: Result): boolean {
  switch (result.outcome) {
    case null:
    case "crashed":
    case "released":
      return true;
    case "retried":
    case "snoozed":
      return result.delay <= 0;
    default:
      return false;
  }
}
