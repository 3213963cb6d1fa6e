export type Measured = Record<string, number>;

export type Case = [name: string, measure: () => Promise<Measured>];

export const perSecond = (count: number, since: number): number =>
  Math.round((count / (performance.now() - since)) * 1000);

const median = (values: number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;

/** Runs all cases in turn, `rounds` times; returns the medians by case. Drains also get a ratio to their baseline. */
export async function inRounds(
  rounds: number,
  cases: Case[],
  baseOf: (name: string) => string,
  part = "of bare",
): Promise<Record<string, Measured>> {
  const samples = new Map<string, Record<string, number[]>>();
  for (let round = 0; round < rounds; round++) {
    for (const [name, measure] of cases) {
      const found = samples.get(name) ?? {};
      for (const [what, value] of Object.entries(await measure()))
        found[what] = [...(found[what] ?? []), value];
      samples.set(name, found);
    }
  }
  const table: Record<string, Measured> = {};
  for (const [name, found] of samples) {
    const row: Measured = {};
    for (const [what, values] of Object.entries(found)) row[`${what}/s`] = median(values);
    const base = samples.get(baseOf(name))?.drain;
    if (found.drain && base && found.drain !== base) {
      row[part] = Number((median(found.drain) / median(base)).toFixed(2));
    }
    table[name] = row;
  }
  return table;
}

export function show(table: Record<string, Measured>): void {
  console.table(table);
  if (process.argv.includes("--json")) console.log(JSON.stringify(table));
}
