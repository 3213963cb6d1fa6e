import type { Statement } from "../sql/database.ts";

export { like, pattern } from "../server/matching.ts";

/** Half characters and NUL, which PostgreSQL does not take in JSON; `JSON.stringify` writes both as escapes. */
const UNREADABLE = String.raw`(?<!\\)((?:\\\\)*)\\u(?:0000|[dD][89a-fA-F][0-9a-fA-F]{2})`;

const STEPS = "array(select jsonb_array_elements_text(?::text::jsonb))";

/** In a list PostgreSQL counts these from its end, or reads over the sign. */
const SIGNED = /^\s*[+-]/;

export function scalar(column: string, path: string[]): Statement {
  const readable = `case when strpos(${column}, '\\u') > 0 then regexp_replace(${column}, '${UNREADABLE}', '\\1?', 'g') else ${column} end`;
  const before = path.flatMap((step, place) => (SIGNED.test(step) ? [path.slice(0, place)] : []));
  const noLists = before.map(() => `json_typeof(d.j #> ${STEPS}) is distinct from 'array'`);
  return {
    text: `(case when ${column} ~ '^[[:space:]]*[{[]' then (
      select case json_typeof(v.j) when 'null' then 'null' when 'object' then null when 'array' then null else v.j #>> '{}' end
        from (select d.j #> ${STEPS} as j from (select (${readable})::json as j offset 0) d
               where ${["true", ...noLists].join(" and ")} offset 0) v) end)`,
    params: [path, ...before].map((steps) => JSON.stringify(steps)),
  };
}
