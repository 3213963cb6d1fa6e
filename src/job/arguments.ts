import type { DispatchOptions } from "../dispatch/dispatch.ts";
import type { Instant } from "../time.ts";

/** Whether a handler that takes these arguments bears a run without any: it gets `{}` then. */
type IsOmittable<Args> = undefined extends Args ? true : Record<never, never> extends Args ? true : false;

/** Whether a dispatch may leave the arguments out. `Own`: whether the job, or the draft, has arguments of its own. */
type MayOmit<Args, Own> = [Own] extends [true] ? true : IsOmittable<Args>;

/** Parameters of `dispatch()`. Options as an object; a number is the delay in seconds. */
export type DispatchArguments<Args, Own = false> =
  MayOmit<Args, Own> extends true
    ? [args?: Args | null, options?: DispatchOptions | number]
    : [args: Args, options?: DispatchOptions | number];

/** Parameters of `register()`, after the job. */
export type RegisterArguments<Args> =
  MayOmit<Args, false> extends true
    ? [args?: Args | null, when?: Instant | null, queue?: string]
    : [args: Args, when?: Instant | null, queue?: string];

/** Parameters of a call that takes nothing but the arguments of a run. */
export type RunArguments<Args, Own = false> =
  MayOmit<Args, Own> extends true ? [args?: Args | null] : [args: Args];

type IsAny<Type> = 0 extends 1 & Type ? true : false;

/** Every value that a payload can be, and no function. */
export type Data = object | string | number | boolean | bigint | symbol | null | undefined;

/**
 * Second parameter of `dispatch()` with a function. It accepts all else as well, so that a mistaken payload fails by the
 * number of arguments alone: the compiler then explains the overload that takes a payload, and no other.
 */
export type FunctionOrData<Handler> = Handler | Data;

/** Parameters that no call gives: makes an overload fail by their number. */
export type Impossible = [never, never, never];

/** Parameters after a function that is dispatched. */
export type FunctionOptions<Given> =
  IsAny<Given> extends true
    ? Impossible
    : Given extends (...args: never[]) => unknown
      ? [options?: DispatchOptions | number]
      : Impossible;
