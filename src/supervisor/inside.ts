import { PunctualError } from "../errors.ts";

/** Environment variable with the number of the child. Programs may read it. */
export const NUMBER = "PUNCTUAL_CHILD";

/** Environment variable with the instance number. Deleted at once: a process that a child starts is not our child. */
export const INSTANCE = "PUNCTUAL_CHILD_OF";

/** The child process that this process is. */
export interface Inside {
  number: number;
  /** Which instance of the program the child works for. */
  instanceNumber: number;
}

/** On the global object, because a program may load several copies of the package. */
const KEY: unique symbol = Symbol.for("punctual.inside") as never;

interface Shared {
  child: Inside | null;
  /** Number of instances that have called supervise(). */
  known: number;
}

type Global = { [KEY]?: Shared };

function shared(): Shared {
  const global = globalThis as Global;
  if (global[KEY]) return global[KEY];
  const instanceNumber = process.env[INSTANCE];
  delete process.env[INSTANCE];
  const isChild = instanceNumber !== undefined && typeof process.send === "function";
  const child = isChild
    ? { number: Number(process.env[NUMBER]), instanceNumber: Number(instanceNumber) }
    : null;
  global[KEY] = { child, known: 0 };
  return global[KEY];
}

/** Null: this process is not a child of a supervisor. */
export function inside(): Inside | null {
  return shared().child;
}

shared();

const instances = new WeakMap<object, number>();

/**
 * Returns the position of an instance among those that called supervise(): the same in the parent and in its
 * children.
 */
export function instanceNumberOf(instance: object): number {
  const number = instances.get(instance) ?? shared().known++;
  instances.set(instance, number);
  return number;
}

/** Throws in a child process: a function that only this process can run must not depend on it. */
export function refuseFunction(name: string): void {
  const child = inside();
  if (!child) return;
  throw new PunctualError(
    "FUNCTION_IN_CHILD",
    `"${name}" could run only in child process ${child.number}, which may be replaced at any time. Define a job with schedule(), and dispatch that.`,
  );
}
