import type { RunShape } from "../dispatch/dispatch.ts";
import { formatValue, PunctualError } from "../errors.ts";
import { yieldToEventLoop } from "../time.ts";
import { Configurable } from "./configurable.ts";
import type { Definition } from "./definition.ts";
import { deriveMethods, type Method } from "./derived-methods.ts";
import type { Home } from "./dispatchable.ts";
import { JobDraft } from "./dispatchable.ts";

type Job = Definition<never>;

/** A setting call on a sealed job. The draft that it returns and all drafts derived from that draft share it. */
interface LateCall {
  readonly job: Job;
  readonly home: Home;
  /** The call as source text, for the warning. */
  readonly text: string;
  /** Whether one of these drafts was dispatched or passed to `recur()`. */
  isUsed: boolean;
}

/**
 * The draft that a setting call on a sealed job returns. Its static type is that of the job, because the compiler
 * cannot know when the call happens. It therefore has every setting of a job as a method. Settings that one run cannot
 * have throw.
 */
export class LateDraft extends JobDraft<never> {
  readonly #call: LateCall;

  constructor(call: LateCall, shape: RunShape = {}) {
    super(call.job, call.home, shape);
    this.#call = call;
  }

  protected override copy(shape: RunShape): this {
    return new LateDraft(this.#call, shape) as this;
  }

  override use(): RunShape {
    this.#call.isUsed = true;
    return super.use();
  }

  refuse(method: string): never {
    throw sealed(this.#call.job, method);
  }
}

/** Adds a method that throws to late drafts for each of these settings of jobs, unless drafts have the setting. */
export function refuseLate(settings: string[]): void {
  const refused = settings
    .filter((name) => !(name in LateDraft.prototype))
    .map((name) => [name, name] as const);
  deriveMethods(LateDraft, refused, (name) => {
    return function (this: LateDraft) {
      return this.refuse(name);
    };
  });
}

/**
 * Applies a setting call on a sealed job to a new draft and returns it. Throws JOB_SEALED if a draft has no such
 * setting.
 */
export function lateSetting(job: Job, home: Home, method: string, args: unknown[]): unknown {
  if (!(method in JobDraft.prototype)) throw sealed(job, method);
  // The arguments of a run may be confidential: they are not logged.
  const text = method === "args" ? "args()" : `${method}(${args.map(formatValue).join(", ")})`;
  const call = { job, home, text, isUsed: false };
  const draft = (new LateDraft(call) as unknown as Record<string, Method<unknown>>)[method]!(...args);
  watch(call);
  return draft;
}

function sealed(job: Job, method: string): PunctualError {
  const recur =
    method in Configurable.prototype || method === "formerly"
      ? ""
      : ` To add a schedule to a job that is defined, use recur(${formatValue(job.name)}, cron).`;
  return new PunctualError(
    "JOB_SEALED",
    `${method}() came too late for job "${job.name}": its settings were sealed at the first await after ${definedAt(job)}. ` +
      `Call ${method}() in the statement that defines the job; if it needs an await, await before that statement.${recur}`,
  );
}

function definedAt({ callSite }: Job): string {
  return callSite?.file == null ? "its definition" : `its definition at ${callSite}`;
}

/** Late calls of this turn of the event loop; one check at its end covers them all. */
let watched: LateCall[] = [];
const warned = new WeakSet<Job>();

/** Warns once for each job if the draft of a late call is not used: the call was probably meant to change the job. */
function watch(call: LateCall): void {
  if (!warned.has(call.job) && watched.push(call) === 1) void yieldToEventLoop().then(warnOfUnused);
}

function warnOfUnused(): void {
  const calls = watched;
  watched = [];
  for (const { job, home, text, isUsed } of calls) {
    if (isUsed || warned.has(job)) continue;
    warned.add(job);
    home.warn(
      `job "${job.name}": ${text} made a draft that was not dispatched, and left the job as it was: the call came after the first await that followed ${definedAt(job)}. Call it in the statement that defines the job; if a draft was meant, begin it with draft()`,
    );
  }
}
