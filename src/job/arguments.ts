import type { DispatchOptions } from "../dispatch/dispatch.ts";
import type { Instant } from "../time.ts";

/** Whether a handler with these arguments accepts a run without arguments, for which it gets `{}`. */
type IsOmittable<Args> = undefined extends Args ? true : Record<never, never> extends Args ? true : false;

/** Whether a dispatch may omit the arguments. `Own`: whether the job or the draft has arguments of its own. */
type MayOmit<Args, Own> = [Own] extends [true] ? true : IsOmittable<Args>;

/** Parameters of `dispatch()`. A number in place of the options is the delay in seconds. */
export type DispatchArguments<Args, Own = false> =
  MayOmit<Args, Own> extends true
    ? [args?: Args | null, options?: DispatchOptions | number]
    : [args: Args, options?: DispatchOptions | number];

/** Parameters of `register()`, after the job. */
export type RegisterArguments<Args> =
  MayOmit<Args, false> extends true
    ? [args?: Args | null, when?: Instant | null, queue?: string]
    : [args: Args, when?: Instant | null, queue?: string];

/** Parameters of a call that takes only the arguments of a run. */
export type RunArguments<Args, Own = false> =
  MayOmit<Args, Own> extends true ? [args?: Args | null] : [args: Args];

export type IsAny<Type> = 0 extends 1 & Type ? true : false;

/** Any value. `Handler | unknown` would be `unknown`, and a function literal would lose the types of its parameters. */
export type Data = object | string | number | boolean | bigint | symbol | null | undefined;

/**
 * Second parameter of the `dispatch()` overload for functions. It also accepts data, which `FunctionOptions` then
 * rejects by the number of arguments: for a wrong payload the compiler therefore reports the error of the payload
 * overload only.
 */
export type FunctionOrData<Handler> = Handler | Data;

/** Parameters that no call passes: the overload is rejected by the number of arguments. */
export type Impossible = [never, never, never];

/** Parameters after the function in `dispatch(name, function, …)`; `Impossible` if `Given` is no function. */
export type FunctionOptions<Given> =
  IsAny<Given> extends true
    ? Impossible
    : Given extends (...args: never[]) => unknown
      ? [options?: DispatchOptions | number]
      : Impossible;
