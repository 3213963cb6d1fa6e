import { PunctualError, show } from "../errors.ts";
import type { JsonValue } from "../run/payload.ts";
import { Dispatchable } from "./dispatchable.ts";
import type { ArgsOf, ArgsOfMethod, JobClass, ResultOf, ResultOfMethod } from "./handlers.ts";

/** The types of one job: what a dispatch passes, and what its handler returns. */
export interface JobTypes<Args = unknown, Result = JsonValue | undefined> {
  args: Args;
  result: Result;
}

/** Names of jobs with their types, for programs that dispatch them by name: made by `catalog()`. */
export interface Catalog<Jobs = Record<string, JobTypes>> {
  /** The names, in the order they were given. */
  readonly names: readonly string[];
  /** Types only: it has no value. */
  readonly "~jobs"?: Jobs;
}

// biome-ignore lint/suspicious/noExplicitAny: jobs of any types.
type AnyJob = Dispatchable<any, any, any>;

/** The catalog of an object of jobs. */
export type CatalogOf<Jobs> = Catalog<{
  [Name in keyof Jobs]: Jobs[Name] extends { readonly "~types"?: infer Types } ? NonNullable<Types> : never;
}>;

/** Makes a catalog; each job must stand under its own name. */
export function toCatalog<Jobs extends Record<string, AnyJob>>(jobs: Jobs): CatalogOf<Jobs> {
  if (typeof jobs !== "object" || jobs === null || Array.isArray(jobs)) {
    throw new PunctualError(
      "INVALID_OPTION",
      `catalog() expected jobs by name, such as { email }, got ${show(jobs)}.`,
    );
  }
  for (const [name, job] of Object.entries(jobs)) {
    if (!(job instanceof Dispatchable)) {
      throw new PunctualError(
        "INVALID_OPTION",
        `catalog() expected a job under ${show(name)}, as define() or declare() returns it, got ${show(job)}.`,
      );
    }
    if (job.name !== name) {
      throw new PunctualError(
        "INVALID_NAME",
        `catalog() has the job ${show(job.name)} under ${show(name)}. Producers dispatch by the name of the job: write { ${show(job.name)}: … }.`,
      );
    }
  }
  return { names: Object.keys(jobs) };
}

type IsAny<Type> = 0 extends 1 & Type ? true : false;

/** The jobs of a catalog; without one, every name with types that are not known. */
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

/** The types of a job: by its name in the catalog, by its definition or draft, by its class, or by its class and method. */
type TypesOf<Known, Target> = Target extends keyof JobsIn<Known>
  ? JobsIn<Known>[Target]
  : Target extends { readonly "~types"?: infer Types }
    ? NonNullable<Types>
    : ClassTypes<Target>;

export type ArgsFor<Known, Target> = TypesOf<Known, Target> extends { args: infer Args } ? Args : unknown;
export type ResultFor<Known, Target> =
  TypesOf<Known, Target> extends { result: infer Result } ? Result : unknown;
