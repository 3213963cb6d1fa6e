import type { Statement } from "../sql/database.ts";
import { jsonPaths } from "../sql/paths.ts";

/** `like` takes no notice of upper and lower case. */
export function like(column: string): string {
  return `${column} glob ?`;
}

export function pattern(pieces: string[]): string {
  return pieces.map((piece) => piece.replace(/[*?[]/g, "[$&]")).join("*");
}

export function scalar(column: string, path: string[]): Statement {
  const paths = jsonPaths(path);
  const parts = paths.map(
    () =>
      `case json_type(${column}, ?) when 'text' then json_extract(${column}, ?) when 'object' then null when 'array' then null else ${column} -> ? end`,
  );
  const value = parts.length === 1 ? parts[0]! : `coalesce(${parts.join(", ")})`;
  return {
    text: `(case when json_valid(${column}) then ${value} end)`,
    params: paths.flatMap(({ text }) => [text, text, text]),
  };
}
