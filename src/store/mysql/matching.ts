import type { Statement } from "../sql/database.ts";
import { jsonPaths } from "../sql/paths.ts";

export { like, pattern } from "../server/matching.ts";

/** As bytes: what these functions give is compared without regard to upper and lower case. */
export function scalar(column: string, path: string[]): Statement {
  const paths = jsonPaths(path);
  const type = `json_type(json_extract(${column}, ?))`;
  const parts = paths.map(({ lists }) => {
    const isThere = [...lists.map(() => `${type} = 'ARRAY'`), `${type} not in ('OBJECT', 'ARRAY')`].join(
      " and ",
    );
    return `case when ${isThere} then cast(json_unquote(json_extract(${column}, ?)) as binary) end`;
  });
  const value = parts.length === 1 ? parts[0]! : `coalesce(${parts.join(", ")})`;
  return {
    text: `(case when json_valid(${column}) then ${value} end)`,
    params: paths.flatMap(({ text, lists }) => [...lists, text, text]),
  };
}
