import { didYouMean } from "../input/names.ts";
import { Exit, exitCodes } from "../output/exit-codes.ts";
import type { Column } from "./table.ts";

/** Returns the columns of `--columns a,b` in that order; without the option, all that are not hidden. */
export function choose<Row>(columns: readonly Column<Row>[], names: string | undefined): Column<Row>[] {
  if (names === undefined) return columns.filter(({ hidden }) => !hidden);
  const known = columns.filter(({ title }) => title !== "");
  const picked = names
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "")
    .map((name) => {
      const found = known.find((column) => keyOf(column) === name.toLowerCase().replace(/[\s_-]/g, ""));
      if (!found) throw unknownColumn(name, known.map(keyOf));
      const { drop: _, ...kept } = found;
      return kept;
    });
  if (picked.length > 0) return picked;
  throw new Exit(exitCodes.usage, `--columns expected names of columns: ${known.map(keyOf).join(", ")}.`);
}

function keyOf({ title }: { title: string }): string {
  return title.toLowerCase().replaceAll(" ", "");
}

function unknownColumn(name: string, known: string[]): Exit {
  return new Exit(
    exitCodes.usage,
    `There is no column "${name}".${didYouMean(name, known)} Expected ${known.join(", ")}.`,
  );
}
