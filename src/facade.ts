import { Punctual } from "./punctual.ts";

let instance: Punctual | undefined;

/**
 * The default instance, opened on first use: `PUNCTUAL_DATABASE_URL`, the `database` of `punctual.config.ts` in this
 * folder, else `./punctual.db`.
 *
 * ```ts
 * Job.schedule("hello", () => console.log("hi")).everySecond();
 * ```
 */
export const Job: Punctual = new Proxy({} as Punctual, {
  get(_, name) {
    instance ??= new Punctual();
    const member: unknown = Reflect.get(instance, name, instance);
    return typeof member === "function" ? member.bind(instance) : member;
  },
});
