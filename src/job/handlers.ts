import { formatValue, PunctualError } from "../errors.ts";
import type { RunContext } from "../run/context.ts";
import { checkName } from "../validate/names.ts";

export type Handler<Args = never, Result = unknown> = (
  args: Args,
  run: RunContext,
) => Result | Promise<Result>;

/** A class with a `handle` method, static or not. */
export type JobClass = abstract new (...args: never[]) => unknown;

/** A class and the name of one of its methods. */
export type ClassMethod<Class extends JobClass = JobClass> = readonly [Class, string];

/** Awaited result of a function. */
export type AwaitedResult<Fn> = Fn extends (...args: never[]) => infer Result ? Awaited<Result> : unknown;

type Parameter<Fn> = Fn extends (args: infer Args, ...rest: never[]) => unknown ? Args : unknown;

/** The type of a class's handler, static or not. */
type HandleOf<Class> = Class extends { handle: infer Fn }
  ? Fn
  : Class extends abstract new (
        ...args: never[]
      ) => { handle: infer Fn }
    ? Fn
    : unknown;

/** The type of a method of a class, static or not. */
type MethodOf<Class, Method> = Method extends keyof Class
  ? Class[Method]
  : Class extends abstract new (
        ...args: never[]
      ) => infer Instance
    ? Method extends keyof Instance
      ? Instance[Method]
      : unknown
    : unknown;

/** The arguments of a class's handler. */
export type ArgsOf<Class> = Parameter<HandleOf<Class>>;

/** The result of a class's handler. */
export type ResultOf<Class> = AwaitedResult<HandleOf<Class>>;

/** The arguments of a method of a class. */
export type ArgsOfMethod<Class, Method> = Parameter<MethodOf<Class, Method>>;

/** The result of a method of a class. */
export type ResultOfMethod<Class, Method> = AwaitedResult<MethodOf<Class, Method>>;

/** Creates an instance of a job class, e.g. from a dependency injection container. May return a promise. */
export type Resolve = (jobClass: JobClass) => unknown;

const makeNew: Resolve = (jobClass) => new (jobClass as new () => unknown)();

type Methods = Record<string, unknown> | null | undefined;

export function isClass(value: unknown): value is JobClass {
  if (typeof value !== "function") return false;
  return (
    /^class\b/.test(Function.prototype.toString.call(value)) ||
    typeof (value as { handle?: unknown }).handle === "function" ||
    typeof (value.prototype as Methods)?.handle === "function"
  );
}

export function isClassMethod(value: unknown): value is ClassMethod {
  return Array.isArray(value) && value.length === 2 && isClass(value[0]) && typeof value[1] === "string";
}

/** Returns the name of a job: the text itself, the name of a class, or `Class.method`. */
export function nameOf(what: unknown): string {
  if (typeof what === "string") return checkName(what, "a job name");
  if (isClassMethod(what)) return checkName(`${nameOfClass(what[0])}.${what[1]}`, "a job name");
  if (isClass(what)) return checkName(nameOfClass(what), "a job name");
  throw new PunctualError(
    "INVALID_NAME",
    `Expected a job name, a class, or [Class, "method"], got ${formatValue(what)}.`,
  );
}

/** Warns if the job is named after a minified class: the next build may give the class another name. */
export function warnIfMinified(what: unknown, logger: { warn(message: string): void }): void {
  const jobClass = isClassMethod(what) ? what[0] : isClass(what) ? what : null;
  if (jobClass === null || jobClass.name.length > 2 || nameOfClass(jobClass) !== jobClass.name) return;
  logger.warn(
    `the class of job "${nameOf(what)}" looks minified: give it a static jobName, or its runs will not be found after the next build`,
  );
}

/** Returns `static jobName`, else the name of the class. */
function nameOfClass(jobClass: JobClass): string {
  const { jobName } = jobClass as { jobName?: unknown };
  if (typeof jobName === "string" && jobName !== "") return jobName;
  if (jobClass.name !== "") return jobClass.name;
  throw new PunctualError("INVALID_NAME", "A job class needs a name: give it one, or a static jobName.");
}

/** Whether a class has neither a name nor a `static jobName`. */
export function isAnonymous(jobClass: JobClass): boolean {
  const { jobName } = jobClass as { jobName?: unknown };
  return jobClass.name === "" && !(typeof jobName === "string" && jobName !== "");
}

/** Whether a class has a method of its own by this name, static or on its instances. */
export function hasMethod(jobClass: JobClass, method: string): boolean {
  if (ownMethod(jobClass, method, Function.prototype)) return true;
  return method !== "constructor" && ownMethod(jobClass.prototype, method, Object.prototype) !== undefined;
}

/** Returns the names of all methods that `hasMethod()` finds. Calls no getter. */
export function methodsOf(jobClass: JobClass): string[] {
  const found = new Set<string>();
  for (const [start, end] of [
    [jobClass, Function.prototype],
    [jobClass.prototype, Object.prototype],
  ] as [object | null, object][]) {
    for (let object = start; object && object !== end; object = Object.getPrototypeOf(object)) {
      for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(object)))
        if (typeof value === "function") found.add(name);
    }
  }
  found.delete("constructor");
  return [...found];
}

/** Returns the handler of a function, a class or a class method; a static method is preferred. Throws NO_HANDLER. */
export function toHandler(target: unknown, name: string, resolve: Resolve = makeNew): Handler<unknown> {
  if (isClassMethod(target)) return methodOf(target[0], target[1], name, resolve);
  if (isClass(target)) return methodOf(target, "handle", name, resolve);
  if (typeof target === "function") return target as Handler<unknown>;
  throw new PunctualError(
    "NO_HANDLER",
    `Job "${name}" has no handler: expected a function, a class with handle(), or [Class, "method"], got ${formatValue(target)}.`,
  );
}

function methodOf(jobClass: JobClass, method: string, name: string, resolve: Resolve): Handler<unknown> {
  const onClass = ownMethod(jobClass, method, Function.prototype);
  if (onClass) return (args, run) => onClass.call(jobClass, args, run);
  if (method !== "constructor" && ownMethod(jobClass.prototype, method, Object.prototype)) {
    // Each run gets a new instance, so that runs share no state.
    return async (args, run) => {
      const instance = (await resolve(jobClass)) as Record<string, Handler<unknown>> | null | undefined;
      if (typeof instance?.[method] === "function") return instance[method](args, run);
      throw new PunctualError(
        "NO_HANDLER",
        `Job "${name}" has no handler: expected resolve(${jobClass.name}) to return an object with a method ${method}(), got ${formatValue(instance)}.`,
      );
    };
  }
  throw new PunctualError(
    "NO_HANDLER",
    `Job "${name}" has no handler: class ${jobClass.name || "(anonymous)"} has no method ${method}(), neither static nor on its instances.`,
  );
}

/** Returns a method of an object, unless it is inherited from `base`, as `call` and `toString` are. */
function ownMethod(object: unknown, method: string, base: object): Handler<unknown> | undefined {
  const found = (object as Methods)?.[method];
  if (typeof found !== "function" || found === (base as Methods)?.[method]) return undefined;
  return found as Handler<unknown>;
}
