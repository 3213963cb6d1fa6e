import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Mutant } from "./mutant.ts";

/** Files of this folder that export no list `mutants`. */
const OTHERS = ["mutant.ts", "list.ts", "mutants.test.ts"];

/** All planted mutants. The area of a mutant is the name of its file in this folder. */
export async function allMutants(): Promise<(Mutant & { area: string })[]> {
  const files = (await readdir(import.meta.dirname)).filter((file) => !OTHERS.includes(file)).sort();
  const areas = await Promise.all(
    files.map((file) => import(pathToFileURL(join(import.meta.dirname, file)).href)),
  );
  return areas.flatMap(({ mutants }, index) =>
    (mutants as Mutant[]).map((mutant) => ({ ...mutant, area: files[index]!.replace(".ts", "") })),
  );
}

/** The source with the mutant planted. Throws if the source has changed so that the mutant no longer applies. */
export function plant(source: string, { rule, file, find, replace }: Mutant): string {
  const [before, after, ...more] = source.split(find);
  if (find === replace) throw new Error(`${file}: the mutant of "${rule}" changes nothing.`);
  if (after === undefined) throw new Error(`${file} does not contain the text that breaks "${rule}".`);
  if (more.length > 0) throw new Error(`${file} contains the text that breaks "${rule}" more than once.`);
  return before + replace + after;
}
