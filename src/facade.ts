import { formatValue, PunctualError } from "./errors.ts";
import { Punctual } from "./punctual.ts";

let instance: Punctual | undefined;

/** The default instance, with `use()` to replace it. */
export interface Facade extends Punctual {
  /**
   * Makes `instance` the default instance, e.g. to set options or a database, or after `Job.stop()`. Jobs that were
   * defined on `Job` before move to it, so that job files may be loaded before or after the call. The previous default
   * instance stops.
   */
  use(instance: Punctual): Punctual;
}

function use(next: Punctual): Punctual {
  if (!(next instanceof Punctual) || next === Job) {
    throw new PunctualError(
      "INVALID_OPTION",
      `Job.use() expected a new Punctual(), got ${formatValue(next)}.`,
    );
  }
  if (instance && instance !== next) Punctual.handOver(instance, next);
  instance = next;
  return next;
}

/**
 * The default instance, created on first use. Its database is `PUNCTUAL_DATABASE_URL`, else the `database` of
 * `punctual.config.ts` in the current folder, else `sqlite:./punctual.db`. `Job.use()` replaces the instance.
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
