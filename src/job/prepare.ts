import type { Dispatch, RunShape } from "../dispatch/dispatch.ts";
import { brand, formatValue, PunctualError } from "../errors.ts";
import { laneOf } from "../run/lanes.ts";
import { EncodedArgs } from "../run/payload.ts";
import { instantOf, zoneOf } from "../schedule/zones.ts";
import type { DeclaredJob, NewRun, Store } from "../store/store.ts";
import type { AdHoc } from "./adhoc.ts";
import { Definition } from "./definition.ts";
import { Dispatchable } from "./dispatchable.ts";
import { laneFor } from "./key.ts";
import { costFor } from "./named-limits.ts";
import type { QueueLimit } from "./queue-orders.ts";
import type { Registry } from "./registry.ts";
import { validate } from "./schema.ts";
import type { Settings } from "./settings.ts";

/** How long the record of a job that another process defines is cached. */
const RECORD_CACHED = 30_000;

export interface PrepareParts {
  /** Opens the database on first use. */
  openStore(): Promise<Store>;
  registry: Registry;
  /** Limits that this process has defined, by name. */
  namedLimits: ReadonlyMap<string, QueueLimit>;
  defaults: Settings;
  owner: string;
  maxPayload: number;
  now(): number;
  /** Starts the heartbeats of this instance, the owner of its ad hoc runs; resolves after the first one. */
  beat(): Promise<void>;
  /** Reports an error that no caller awaits. */
  report(error: unknown): void;
  warn(message: string): void;
}

/** Turns dispatches into rows: looks up the job, validates the arguments, fills in the settings of the job. */
export class Preparer {
  readonly #parts: PrepareParts;
  readonly #records = new Map<string, { job: DeclaredJob & { name: string }; until: number }>();
  readonly #warned = new Set<string>();

  constructor(parts: PrepareParts) {
    this.#parts = parts;
  }

  /** Returns the row of a dispatch. `within`: whether the row is inserted in a transaction of the caller's. */
  async prepare(
    dispatch: Pick<Dispatch<never>, "target" | "shape" | "parentId">,
    within: boolean,
  ): Promise<NewRun> {
    const { target, shape, parentId } = dispatch;
    return { ...(await this.#row(target, shape, within)), parentId };
  }

  /** Captures the job's definition as it is now. Returns `job` itself if this process does not define it. */
  capture(job: Dispatchable<never>): Capture | Dispatchable<never> {
    const definition = job instanceof Definition ? job : this.#parts.registry.definition(job.name);
    return definition
      ? new Capture(definition as unknown as Definition<unknown>, this.#parts.maxPayload)
      : job;
  }

  /**
   * Returns rows of one job with the same options, each with its own arguments. The arguments of a list are captured at
   * the call and all validated before the first row is yielded; an async iterable is read row by row.
   */
  many(
    job: Dispatchable<never>,
    all: Iterable<unknown> | AsyncIterable<unknown>,
    shape: RunShape,
    { parentId, method = "dispatchMany()" }: { parentId: number | null; method?: string },
  ): AsyncGenerator<NewRun> {
    if (typeof all !== "object" || all === null || !(Symbol.iterator in all || Symbol.asyncIterator in all)) {
      throw new PunctualError(
        "INVALID_OPTION",
        `${method} expected a list of arguments, an iterable or an async iterable, got ${formatValue(all)}.`,
      );
    }
    const target = this.capture(job);
    const batchId = crypto.randomUUID();
    const row = async (args: unknown) => ({
      ...(await this.#row(target, { ...shape, args }, false)),
      parentId,
      batchId,
    });
    if (Symbol.asyncIterator in all) return streamRows(all, row);
    return validateAllRows(
      Array.from(all, (args) => (args === undefined ? undefined : this.#encode(args))),
      row,
    );
  }

  async #row(target: object, shape: RunShape, within: boolean): Promise<NewRun> {
    // A name may be dispatched before its job is defined in the same turn: the definition exists by now.
    const found = target instanceof Dispatchable ? this.capture(target as Dispatchable<never>) : target;
    if (found instanceof Capture) return this.#defined(found, shape);
    if (!(found instanceof Dispatchable)) return this.#adHoc(found as AdHoc, shape, within);
    const job = await this.#lookUp(found.name);
    return this.#toRun(job, shape, this.#encode(shape.args), job.name);
  }

  async #defined({ definition, settings, timezone, args: own }: Capture, shape: RunShape): Promise<NewRun> {
    const { schema, name } = definition;
    const args = shape.args === undefined ? own : this.#encode(shape.args);
    if (schema) await validate(schema as Parameters<typeof validate>[0], args.value, name);
    const lane = shape.key === undefined ? laneFor(name, settings, () => args.value) : name;
    const run = this.#toRun({ name, ...jobOf(settings) }, shape, args, lane);
    const cost = costFor(name, settings, args.value, this.#parts.namedLimits);
    if (cost !== null) run.cost = cost;
    if (run.runAt !== null && shape.wall && timezone) run.runAt = instantOf(zoneOf(timezone), run.runAt);
    return run;
  }

  async #adHoc(adHoc: AdHoc, shape: RunShape, within: boolean): Promise<NewRun> {
    const args = this.#encode(shape.args === undefined ? adHoc.settings.args : shape.args);
    if (adHoc.schema) await validate(adHoc.schema, args.value, adHoc.name);
    const run = this.#toRun({ name: adHoc.name, ...jobOf(adHoc.settings) }, shape, args, adHoc.lane);
    this.#parts.registry.addAdHoc(adHoc);
    await this.#awaitUnlessWithin(this.#parts.beat(), within);
    return { ...run, lane: adHoc.lane, owner: this.#parts.owner };
  }

  #encode(args: unknown): EncodedArgs {
    return EncodedArgs.of(args, this.#parts.maxPayload);
  }

  /** Returns the row. `lane`: lane of the run if the dispatch sets no key. */
  #toRun(
    { name, queue, priority, limit, keyLimit }: DeclaredJob & { name: string },
    shape: RunShape,
    args: EncodedArgs,
    lane: string,
  ): NewRun {
    return {
      name,
      job: { queue, priority, limit, keyLimit },
      queue: shape.queue ?? queue,
      lane: shape.key === undefined ? lane : laneOf(name, shape.key),
      priority: shape.priority ?? priority,
      runAt: shape.runAt ?? null,
      delay: shape.delay ?? 0,
      args: args.json,
      timeout: shape.timeout ?? null,
      retries: shape.retries ?? null,
      unique: shape.unique ?? null,
      owner: null,
      tags: shape.tags ?? [],
      parentId: null,
      rerunOf: shape.rerunOf ?? null,
      batchId: null,
      expires: shape.expires ?? null,
      traceparent: shape.traceparent ?? null,
    };
  }

  /**
   * Awaits a write on another connection, except within a transaction of the caller's: on SQLite that transaction may
   * hold the only write lock, and awaiting the write would deadlock.
   */
  async #awaitUnlessWithin(writing: Promise<void>, within: boolean): Promise<void> {
    if (within) writing.catch((error) => this.#parts.report(error));
    else await writing;
  }

  /** Returns the record of a job that this process does not define; for a declared name without a row, the defaults. */
  async #lookUp(name: string): Promise<DeclaredJob & { name: string }> {
    const known = this.#records.get(name);
    const now = this.#parts.now();
    if (known && known.until > now) return known.job;
    const store = await this.#parts.openStore();
    const row = await store.job(name);
    if (!row && !this.#parts.registry.isDeclared(name))
      throw this.#parts.registry.unknown(name, await store.jobNames());
    if (!row || row.fingerprint === "") this.#warnOfUndefined(name);
    // The insert writes a limit of 1, the strictest one, which holds until a worker defines the job.
    const job = row ?? { ...jobOf(this.#parts.defaults), name, limit: 1, keyLimit: 0 };
    this.#records.set(name, { job, until: now + RECORD_CACHED });
    return job;
  }

  /** Warns once for each name: the name may be misspelt, or its worker may not be deployed yet. */
  #warnOfUndefined(name: string): void {
    if (this.#warned.has(name)) return;
    this.#warned.add(name);
    this.#parts.warn(
      `job "${name}" was dispatched, but no worker has defined it yet: its runs wait for one. Check the name in declare(), or start a worker that defines it`,
    );
  }
}

function jobOf({ queue, priority, concurrency, perKey }: Settings): DeclaredJob {
  return { queue, priority, limit: concurrency, keyLimit: perKey };
}

async function* streamRows(
  all: AsyncIterable<unknown>,
  row: (args: unknown) => Promise<NewRun>,
): AsyncGenerator<NewRun> {
  for await (const args of all) yield row(args);
}

async function* validateAllRows(
  all: readonly unknown[],
  row: (args: unknown) => Promise<NewRun>,
): AsyncGenerator<NewRun> {
  const rows: NewRun[] = [];
  for (const args of all) rows.push(await row(args));
  yield* rows;
}

/** The definition as it was at the `dispatch()` call. Later changes do not reach the run. */
export class Capture {
  readonly definition: Definition<unknown>;
  readonly settings: Settings;
  readonly timezone: string | null;
  /** The definition's own arguments, for a dispatch without arguments. */
  readonly args: EncodedArgs;

  constructor(definition: Definition<unknown>, maxPayload: number) {
    this.definition = definition;
    this.settings = definition.settings;
    this.timezone = definition.plan.timezone;
    this.args = EncodedArgs.of(definition.settings.args, maxPayload);
  }
}

brand(Capture, "Capture");
