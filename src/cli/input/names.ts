import { closeNames } from "../../validate/names.ts";
import { Exit, exitCodes } from "../output/exit-codes.ts";

/** Returns the items whose names match a pattern, where `*` matches any text. Throws for a pattern without a match. */
export function selectByName<Named>(
  all: readonly Named[],
  patterns: readonly string[],
  nameOf: (one: Named) => string,
): Named[] {
  if (patterns.length === 0) return [...all];
  const tests = patterns.map((pattern) => matcher(pattern));
  patterns.forEach((pattern, index) => {
    if (!all.some((one) => tests[index]!(nameOf(one)))) throw unknownJob(pattern, all.map(nameOf));
  });
  return all.filter((one) => tests.some((test) => test(nameOf(one))));
}

function matcher(pattern: string): (name: string) => boolean {
  if (!pattern.includes("*")) return (name) => name === pattern;
  const parts = pattern.split("*").map((part) => part.replace(/[\\^$.|?+()[\]{}/-]/g, "\\$&"));
  const expression = new RegExp(`^${parts.join(".*")}$`, "s");
  return (name) => expression.test(name);
}

/** The error for a job that the database does not have, with similar names. */
export function unknownJob(name: string, known: Iterable<string>): Exit {
  const hint = didYouMean(name, known) || " To list all: punctual list jobs";
  return new Exit(exitCodes.notFound, `The database has no job "${name}".${hint}`);
}

/** ` Did you mean "emails"?`, with a leading space; empty if no known name is similar. */
export function didYouMean(wanted: string, known: Iterable<string>): string {
  const close = closeNames(wanted, known);
  return close.length === 0 ? "" : ` Did you mean ${close.map((one) => `"${one}"`).join(" or ")}?`;
}
