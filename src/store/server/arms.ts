import type { Statement } from "../sql/database.ts";

/** Several selects as one, each with its own order, limit and locks. One condition over all of them would sort. */
export function unite(arms: Statement[]): Statement {
  return {
    text: arms.map(({ text }, index) => `select * from (${text}) arm${index}`).join(" union all "),
    params: arms.flatMap(({ params }) => params),
  };
}
