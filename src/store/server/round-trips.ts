import { inGroups, type ServerDatabase, type Sql, type Statement } from "../sql/database.ts";

/** Selects in one statement at most, so that no statement grows with the number of queues. */
const SELECTS = 64;

/**
 * Reads several selects in one statement and returns the rows of all. Each select keeps its own order, limit and locks;
 * a single select with one condition for all of them would sort every row.
 */
export async function readTogether<Row>(
  sql: Sql,
  db: Pick<ServerDatabase, "unionArm">,
  selects: Statement[],
): Promise<Row[]> {
  const groups = await Promise.all(
    [...inGroups(selects, SELECTS)].map((group) => {
      const arms = group.map(
        ({ text }, index) => db.unionArm?.(text) ?? `select * from (${text}) arm${index}`,
      );
      // A single select stays as it is: MariaDB copies an arm to a temporary table, which takes as long again (note
      // 39).
      const text = arms.length === 1 ? group[0]!.text : arms.join(" union all ");
      return sql.all<Row>(text, ...group.flatMap(({ params }) => params));
    }),
  );
  return groups.flat();
}

/**
 * Two reads in one round trip, where the second read depends on the first. The second read is sent along with the
 * first, by the first read's previous result. It is repeated only if that guess does not cover the new result (note
 * 22).
 */
export class Speculation<First, Second> {
  readonly #covers: (guess: First, actual: First) => boolean;
  #last: First | null = null;

  /** `covers`: whether a second read by `guess` has read everything that one by `actual` reads. */
  constructor(covers: (guess: First, actual: First) => boolean) {
    this.#covers = covers;
  }

  /** Returns both results, or null if the first read returns null: there is no second read to do. */
  async read(
    readFirst: () => Promise<First | null>,
    readSecond: (first: First) => Promise<Second>,
  ): Promise<[First, Second] | null> {
    const guess = this.#last;
    const [first, guessed] = await Promise.all([readFirst(), guess && readSecond(guess)]);
    if (first === null) return null;
    this.#last = first;
    const isCovered = guess !== null && this.#covers(guess, first);
    return [first, isCovered ? (guessed as Second) : await readSecond(first)];
  }

  /** Does the second read alone; the caller has the result of the first. */
  async readSecond(first: First, readSecond: (first: First) => Promise<Second>): Promise<[First, Second]> {
    this.#last = first;
    return [first, await readSecond(first)];
  }
}
