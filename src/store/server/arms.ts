import { inGroups, type Sql, type Statement } from "../sql/database.ts";

/** Selects that share a statement: it must not grow with the number of queues. */
const ARMS = 64;

/** Several selects as one, each with its own order, limit and locks. One condition over all of them would sort. */
export async function readArms<Row>(sql: Sql, arms: Statement[]): Promise<Row[]> {
  const groups = await Promise.all(
    [...inGroups(arms, ARMS)].map((group) =>
      sql.all<Row>(
        group.map(({ text }, index) => `select * from (${text}) arm${index}`).join(" union all "),
        ...group.flatMap(({ params }) => params),
      ),
    ),
  );
  return groups.flat();
}
