import { PunctualError } from "../errors.ts";

/** The number of a child, for programs that want to know whether they are one. */
export const NUMBER = "PUNCTUAL_CHILD";

/** Which of the program's instances the child works for. Taken out at once: what a child starts is not our child. */
export const INSTANCE = "PUNCTUAL_CHILD_OF";

export interface Inside {
  number: number;
  instanceNumber: number;
}

/** Through the global object: a program may have loaded several copies of the package. */
const KEY: unique symbol = Symbol.for("punctual.inside") as never;

interface Shared {
  child: Inside | null;
  /** How many instances were to be supervised. */
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

/** Null: this process is nobody's child. */
export function inside(): Inside | null {
  return shared().child;
}

shared();

const instances = new WeakMap<object, number>();

/** Which of the instances that were to be supervised this is: the same in the parent and in its children. */
export function instanceNumberOf(instance: object): number {
  const number = instances.get(instance) ?? shared().known++;
  instances.set(instance, number);
  return number;
}

/** What only this process can run is refused in a child. */
export function refuseFunction(name: string): void {
  const child = inside();
  if (!child) return;
  throw new PunctualError(
    "FUNCTION_IN_CHILD",
    `"${name}" would run in child process ${child.number} alone, which may be replaced at any time. Define a job with schedule(), and dispatch that.`,
  );
}
