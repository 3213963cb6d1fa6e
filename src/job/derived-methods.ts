// biome-ignore lint/suspicious/noExplicitAny: the parameters differ from method to method.
export type Method<Self> = (this: Self, ...args: any[]) => unknown;

/**
 * Adds methods to a class that derive from another class or from a table: `derive` makes each of them, so that a rule
 * which holds for all of them is written once and covers methods that are added later. An interface with the name of
 * the class declares them to the compiler.
 */
export function deriveMethods<Self, Origin>(
  target: { readonly prototype: object },
  origins: Iterable<readonly [name: string, origin: Origin]>,
  derive: (name: string, origin: Origin) => Method<Self>,
): void {
  for (const [name, origin] of origins) {
    // As methods of a class: tests may replace them, and loops over properties do not see them.
    const descriptor = { value: derive(name, origin), writable: true, configurable: true };
    Object.defineProperty(target.prototype, name, descriptor);
  }
}

/** Returns the methods of a class, without inherited ones. */
export function methodsOf<Self>(type: { readonly prototype: Self }): [name: string, method: Method<Self>][] {
  const methods = Object.entries(Object.getOwnPropertyDescriptors(type.prototype));
  return methods.flatMap(([name, { value }]) =>
    name === "constructor" || typeof value !== "function" ? [] : [[name, value as Method<Self>]],
  );
}
