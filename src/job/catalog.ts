import { formatValue, PunctualError } from "../errors.ts";
import type { JsonValue } from "../run/payload.ts";
import type { IsAny } from "./arguments.ts";
import { Dispatchable } from "./dispatchable.ts";
import type { ArgsOf, ArgsOfMethod, JobClass, ResultOf, ResultOfMethod } from "./handlers.ts";

/** The types of one job: the arguments of a dispatch and the result of the handler. */
export interface JobTypes<Args = unknown, Result = JsonValue | undefined> {
  args: Args;
  result: Result;
}

/** Names of jobs with their types, for programs that dispatch them by name. `catalog()` returns it. */
export interface Catalog<Jobs = Record<string, JobTypes>> {
  /** Names of the jobs, in the order of the object passed to `catalog()`. */
  readonly names: readonly string[];
  /** Carries the types; never set at run time. */
  readonly "~jobs"?: Jobs;
}

// biome-ignore lint/suspicious/noExplicitAny: jobs of any types.
type AnyJob = Dispatchable<any, any, any>;

/** Types that a job was defined or declared with. */
export type TypesOfJob<Job> = Job extends { readonly "~types"?: infer Types } ? NonNullable<Types> : never;

/** Returns the catalog of these jobs. Throws INVALID_NAME for a job that is listed under another name. */
export function toCatalog(jobs: Record<string, AnyJob>): Catalog<never> {
  if (typeof jobs !== "object" || jobs === null || Array.isArray(jobs)) {
    throw new PunctualError(
      "INVALID_OPTION",
      `catalog() expected jobs by name, such as { email }, got ${formatValue(jobs)}.`,
    );
  }
  for (const [name, job] of Object.entries(jobs)) {
    if (!(job instanceof Dispatchable)) {
      throw new PunctualError(
        "INVALID_OPTION",
        `catalog() expected a job under ${formatValue(name)}, as define() or declare() returns it, got ${formatValue(job)}.`,
      );
    }
    if (job.name !== name) {
      throw new PunctualError(
        "INVALID_NAME",
        `catalog() has the job ${formatValue(job.name)} under ${formatValue(name)}. Producers dispatch by the name of the job: write { ${formatValue(job.name)}: … }.`,
      );
    }
  }
  return { names: Object.keys(jobs) };
}

/** The jobs of a catalog; without a catalog, any name with unknown types. */
export type JobsIn<Known> =
  IsAny<Known> extends true
    ? Record<string, JobTypes>
    : Known extends { readonly "~jobs"?: infer Jobs }
      ? NonNullable<Jobs>
      : Record<string, JobTypes>;

/** A class with `handle()`, or a class and the name of one of its methods. */
export type ClassTarget = JobClass | readonly [JobClass, string];

/** The types of a class's handler, or of a method. */
export type ClassTypes<Target> = Target extends readonly [infer Class, infer Method]
  ? JobTypes<ArgsOfMethod<Class, Method>, ResultOfMethod<Class, Method>>
  : JobTypes<ArgsOf<Target>, ResultOf<Target>>;

/**
 * The types of a job, found by its name in the catalog, its definition or draft, its class, or its class and method.
 */
type TypesOf<Known, Target> = Target extends keyof JobsIn<Known>
  ? JobsIn<Known>[Target]
  : Target extends { readonly "~types"?: infer Types }
    ? NonNullable<Types>
    : ClassTypes<Target>;

export type ArgsFor<Known, Target> = TypesOf<Known, Target> extends { args: infer Args } ? Args : unknown;
export type ResultFor<Known, Target> =
  TypesOf<Known, Target> extends { result: infer Result } ? Result : unknown;
