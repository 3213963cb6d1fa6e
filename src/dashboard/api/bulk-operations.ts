import type { BulkOptions, BulkReport, BulkTarget } from "../../operate/bulk.ts";
import type { RunsQuery } from "../../operate/run-query.ts";
import { toFailure } from "../../run/failure.ts";
import { shellQuote } from "../../status/hints.ts";
import { HOUR, SECOND } from "../../time.ts";
import { HttpProblem } from "../server/problem.ts";
import type { User } from "../server/route.ts";
import type { BulkOperation, BulkRequest, Count } from "./contract.ts";
import type { LiveHub } from "./live/live-hub.ts";
import type { Services } from "./services.ts";
import { toCount } from "./views/run-summary.ts";
import { iso } from "./views/times.ts";

/** Most runs of one operation. */
export const MOST_RUNS = 100_000;
const MOST_AT_ONCE = 4;
const KEPT_FOR: number = HOUR;
const PUBLISHED_EVERY: number = SECOND / 2;

/** The runs of an operation: `ids`, all that match a query, or the members of a batch that the action is for. */
export type Selection =
  | { ids: number[] }
  | { q: string; query: RunsQuery }
  | { batch: number; members: number };

interface Operation {
  view: BulkOperation;
  stop: AbortController;
  /** Resolves when the operation has ended and its result is in the audit trail. */
  ended: Promise<void>;
}

/**
 * Operations on many runs, executed in this process. They end with the process. The audit trail has an entry for the
 * start of each, so that a process that is killed leaves a trace, and one for its result.
 */
export class BulkOperations {
  readonly #services: Services;
  readonly #hub: LiveHub;
  readonly #operations = new Map<string, Operation>();

  constructor(services: Services, hub: LiveHub) {
    this.#services = services;
    this.#hub = hub;
  }

  /** Starts an operation, and returns its state. Throws if the query is wrong or matches everything. */
  async start(action: BulkRequest["action"], selection: Selection, user: User): Promise<BulkOperation> {
    const running = [...this.#operations.values()].filter(({ view }) => view.state === "running");
    const same = running.find(({ view }) => view.command === commandOf(action, selection));
    if ("batch" in selection && same) return same.view;
    if (running.length >= MOST_AT_ONCE) {
      throw new HttpProblem({
        code: "TOO_MANY_OPERATIONS",
        detail: `${MOST_AT_ONCE} operations are running, the most at once.`,
        hint: "Wait for one to finish, or stop one.",
        headers: { "retry-after": "10" },
      });
    }
    const total = await this.#count(selection);
    const view: BulkOperation = {
      id: crypto.randomUUID(),
      action,
      q: queryOf(selection),
      state: "running",
      done: 0,
      requested: 0,
      skipped: {},
      total,
      startedAt: iso(this.#services.clock.now()),
      finishedAt: null,
      by: user.name,
      error: null,
      command: commandOf(action, selection),
    };
    await this.#record(view, selection, user);
    const operation: Operation = { view, stop: new AbortController(), ended: Promise.resolve() };
    this.#operations.set(view.id, operation);
    this.#publish(operation);
    operation.ended = this.#run(operation, selection, user);
    return view;
  }

  /** Returns an operation. Throws 404 if this process does not have it. */
  find(id: string): BulkOperation {
    return this.#find(id).view;
  }

  /** Stops an operation before its next runs. */
  stop(id: string): BulkOperation {
    const { view, stop } = this.#find(id);
    stop.abort();
    return view;
  }

  /** Stops all operations, when the dashboard closes. Resolves when their results are in the audit trail. */
  async close(): Promise<void> {
    const operations = [...this.#operations.values()];
    for (const { stop } of operations) stop.abort();
    await Promise.all(operations.map(({ ended }) => ended));
  }

  #find(id: string): Operation {
    const operation = this.#operations.get(id);
    if (operation) return operation;
    throw new HttpProblem({
      code: "UNKNOWN_OPERATION",
      detail: `There is no operation ${JSON.stringify(id)} in this process. It is known for an hour after its end.`,
    });
  }

  async #count(selection: Selection): Promise<Count> {
    if ("batch" in selection) return { value: selection.members, capped: false };
    if ("ids" in selection) return { value: selection.ids.length, capped: false };
    const { reports } = this.#services;
    return toCount(await reports.count(selection.query));
  }

  async #run(operation: Operation, selection: Selection, user: User): Promise<void> {
    const { view, stop } = operation;
    try {
      const isComplete = await this.#apply(operation, selection);
      view.state = isComplete ? "finished" : "stopped";
      if (!isComplete && !stop.signal.aborted)
        view.error = `Stopped after ${MOST_RUNS} runs, the most of one operation. Start it again for the rest.`;
    } catch (error) {
      view.state = "failed";
      view.error = this.#services.settings.redaction.text(toFailure(error).message);
    }
    const { clock, reads } = this.#services;
    view.finishedAt = iso(clock.now());
    reads.forget();
    this.#publish(operation);
    clock.after(KEPT_FOR, () => this.#forget(view.id), { background: true });
    // If the database is away, the operation has failed already, and the entry of its start remains.
    await this.#record(view, selection, user).catch(() => {});
  }

  async #record(view: BulkOperation, selection: Selection, user: User): Promise<void> {
    const { action, id, q, done, requested, skipped, state, total, error } = view;
    const result =
      state === "running"
        ? { total: total.value }
        : { done, ...(action === "cancel" && { requested }), skipped, error };
    const isBatch = "batch" in selection;
    await this.#services.jobs.recordAction({
      action: `${isBatch ? "batch" : "runs"}.${action}`,
      target: isBatch
        ? `batch ${selection.batch}`
        : (q ?? `${"ids" in selection ? selection.ids.length : 0} runs`),
      details: { operation: id, state, ...result },
      user: user.name,
      role: user.role,
      source: "dashboard",
    });
  }

  /** Returns false if it stopped before the last run. */
  async #apply(operation: Operation, selection: Selection): Promise<boolean> {
    if ("batch" in selection) return this.#applyToBatch(operation, selection.batch);
    const target = "ids" in selection ? selection.ids : selection.query;
    const report = await this.#call(operation.view.action, target, this.#options(operation));
    return !operation.stop.signal.aborted && processedIn(report) < MOST_RUNS;
  }

  async #applyToBatch(operation: Operation, batch: number): Promise<boolean> {
    const { jobs } = this.#services;
    const { view, stop } = operation;
    const report = this.#progressOf(operation);
    const options = {
      progress: (done: number, requested: number) => report({ done, requested }),
      signal: stop.signal,
    };
    if (view.action === "retry") await jobs.retryBatch(batch, options);
    else await jobs.cancelBatch(batch, options);
    if (stop.signal.aborted && view.action === "cancel")
      view.error = "The batch stays cancelled: workers cancel its other members within a minute.";
    return !stop.signal.aborted;
  }

  #options(operation: Operation): BulkOptions {
    const report = this.#progressOf(operation);
    const progress: BulkOptions["progress"] = (_done, _total, { done, requested, skipped }) =>
      report({ done, requested, skipped: { ...skipped } });
    return { limit: MOST_RUNS, progress, signal: operation.stop.signal };
  }

  /** Returns a function that writes counts to the view of an operation, and publishes them at most twice a second. */
  #progressOf(operation: Operation): (counts: Partial<BulkOperation>) => void {
    const { clock } = this.#services;
    let publishedAt = clock.monotonic();
    return (counts) => {
      Object.assign(operation.view, counts);
      if (clock.monotonic() - publishedAt < PUBLISHED_EVERY) return;
      publishedAt = clock.monotonic();
      this.#publish(operation);
    };
  }

  #call(action: BulkRequest["action"], target: BulkTarget, options: BulkOptions): Promise<BulkReport> {
    const { jobs } = this.#services;
    switch (action) {
      case "retry":
        return jobs.retryAll(target, options);
      case "cancel":
        return jobs.cancelAll(target, options);
      case "delete":
        return jobs.removeAll(target, options);
    }
  }

  #publish({ view }: Operation): void {
    const isCurrent = view.state === "running";
    this.#hub.publish(`bulk:${view.id}`, "bulk", view, { isCurrent });
  }

  #forget(id: string): void {
    this.#operations.delete(id);
    this.#hub.forget(`bulk:${id}`);
  }
}

function processedIn({ done, requested, skipped }: BulkReport): number {
  return Object.values(skipped).reduce((total, count) => total + count, done + requested);
}

/** Returns a query that finds the runs; null: they were named. */
function queryOf(selection: Selection): string | null {
  if ("batch" in selection) return `batch:${selection.batch}`;
  return "q" in selection ? selection.q : null;
}

function commandOf(action: BulkRequest["action"], selection: Selection): string {
  if ("batch" in selection) return `punctual batch ${action} ${selection.batch}`;
  const which = "q" in selection ? `--where ${shellQuote(selection.q)}` : selection.ids.join(" ");
  return `punctual ${action} ${which}`;
}
