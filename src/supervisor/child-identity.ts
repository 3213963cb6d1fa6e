import { PunctualError } from "../errors.ts";

/** Environment variable with the number of the child. Programs may read it. */
export const NUMBER = "PUNCTUAL_CHILD";

/** Environment variable with the instance number. Deleted at once: a process that a child starts is not our child. */
export const INSTANCE = "PUNCTUAL_CHILD_OF";

/** Identifies a process as a child of an instance. */
export interface ChildIdentity {
  /** From 1 to `workers`; a replacement has the number of the child before it. */
  number: number;
  /** Number of the call of supervise() in the program that the child works for. */
  instanceNumber: number;
}

/** On the global object, because a program may load several copies of the package. */
const KEY: unique symbol = Symbol.for("punctual.inside") as never;

interface ProcessState {
  child: ChildIdentity | null;
  /** Number of instances that have called supervise(). */
  known: number;
}

type GlobalScope = { [KEY]?: ProcessState };

function processState(): ProcessState {
  const global = globalThis as GlobalScope;
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

/** Returns which child this process is; null: it is not a child of a supervisor. */
export function childIdentity(): ChildIdentity | null {
  return processState().child;
}

processState();

const instances = new WeakMap<object, number>();

/**
 * Returns the position of an instance among those that called supervise(): the same in the parent and in its
 * children.
 */
export function instanceNumberOf(instance: object): number {
  const number = instances.get(instance) ?? processState().known++;
  instances.set(instance, number);
  return number;
}

/** Throws in a child process: an ad hoc function would be lost when the child is replaced. */
export function refuseFunction(name: string): void {
  const child = childIdentity();
  if (!child) return;
  throw new PunctualError(
    "FUNCTION_IN_CHILD",
    `"${name}" could run only in child process ${child.number}, which may be replaced at any time. Define a job with define(), and dispatch that.`,
  );
}
