import { PunctualError, show } from "./errors.ts";
import { Punctual } from "./punctual.ts";

let instance: Punctual | undefined;

/** The default instance, and how to choose it. */
export interface Facade extends Punctual {
  /**
   * Makes `Job` stand for this instance: with a clock, options or a database of its own, or after `Job.stop()`. It takes
   * over what was defined on `Job` before, so that job files may be loaded before or after the call; the instance that
   * `Job` stood for stops.
   */
  use(instance: Punctual): Punctual;
}

function use(next: Punctual): Punctual {
  if (!(next instanceof Punctual) || next === Job) {
    throw new PunctualError("INVALID_OPTION", `Job.use() expected a new Punctual(), got ${show(next)}.`);
  }
  if (instance && instance !== next) Punctual.handOver(instance, next);
  instance = next;
  return next;
}

/**
 * The default instance, opened on first use: `PUNCTUAL_DATABASE_URL`, the `database` of `punctual.config.ts` in this
 * folder, else `./punctual.db`. `Job.use()` chooses another.
 *
 * ```ts
 * Job.define("hello", () => console.log("hi")).everySecond();
 * ```
 */
export const Job: Facade = new Proxy(Object.create(Punctual.prototype) as Facade, {
  get(_, name) {
    if (name === "use") return use;
    instance ??= new Punctual();
    const member: unknown = Reflect.get(instance, name, instance);
    return typeof member === "function" ? member.bind(instance) : member;
  },
  has: (_, name) => name === "use" || Reflect.has(Punctual.prototype, name),
});
