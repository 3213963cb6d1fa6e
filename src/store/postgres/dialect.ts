import type { ColumnType, IndexRange, Param, Statement, Tables } from "../sql/database.ts";

export function rows(columns: Record<string, ColumnType>): string {
  const values = Object.entries(columns).map(([column, type], index) => {
    const value = `e.v ->> ${index}`;
    return `${type === "text" ? value : `(${value})::bigint`} as ${column}`;
  });
  // First cast to text: a library of the caller's may otherwise encode a json parameter a second time.
  return `(select ${values.join(", ")} from jsonb_array_elements(?::text::jsonb) as e (v))`;
}

export function updateFrom(table: string, set: Record<string, string>, from: string, where?: string): string {
  const sets = Object.entries(set).map(([column, to]) => `${column} = ${to}`);
  const condition = where === undefined ? "" : ` and (${where})`;
  return `update ${table} as r set ${sets.join(", ")} from ${from} v where v.id = r.id${condition}`;
}

/** A list of ids. As an array it takes two thirds of the time of a join with JSON (note 37). */
export const ID_LIST = "any(?::text::bigint[])";

/** The parameter of `ID_LIST`. */
export function idList(ids: readonly number[]): string {
  return `{${ids.join()}}`;
}

export function updateByIds(
  table: string,
  set: Record<string, string>,
  ids: readonly number[],
  params: Param[],
): Statement {
  const sets = Object.entries(set).map(([column, to]) => `${column} = ${to}`);
  const text = `update ${table} as r set ${sets.join(", ")} where r.id = ${ID_LIST}`;
  return { text, params: [...params, idList(ids)] };
}

/**
 * Compares rows, not columns. With `name = ?` PostgreSQL may scan the primary key instead, if it expects the runs of
 * this name to be spread evenly over all ids.
 */
export function historyRange(name: string, after: number, upTo: number): IndexRange {
  return {
    text: "(r.name, r.id) > (?, ?) and (r.name, r.id) <= (?, ?)",
    params: [name, after, name, upTo],
    order: ["r.name", "r.id"],
  };
}

/** Name of the sequence that the ids of runs come from. */
export function idSequence(t: Tables): string {
  return `${t.runs}_id_seq`;
}

/** A loose index scan, one index lookup for each queue: `distinct` would read every ready run. */
export function readyQueues(t: Tables): string {
  const steps = (name: string, limited: number) => {
    const ready = `from ${t.runs} where state = 1 and limited = ${limited} and owner is null`;
    return `${name} as (
      (select queue ${ready} order by queue limit 1)
      union all
      select (select queue ${ready} and queue > ${name}.queue order by queue limit 1)
        from ${name} where ${name}.queue is not null)`;
  };
  return `with recursive ${steps("free", 0)}, ${steps("bound", 1)}
    select queue, 0 as limited from free where queue is not null
    union all select queue, 1 from bound where queue is not null`;
}

/** More jobs than anybody has. */
const ALL_JOBS = 1_000_000;

/**
 * Reads the partial index of paused jobs. Without order and limit PostgreSQL scans all jobs until their table is
 * analysed: 5,000 rows in 0.7 ms, for each claim and each poll.
 */
export function pausedJobs(t: Tables): string {
  return `select name from ${t.jobs} where paused_at is not null order by name ${upTo(ALL_JOBS)}`;
}

export function nextDue(t: Tables): string {
  return `select min(run_at) as run_at from ${t.runs} where state = 0`;
}

/** A loose index scan, one index lookup for each lane, however many runs are in it. */
export function readyLanes(
  t: Tables,
  { queue, limited }: { queue: string; limited: 0 | 1 },
  after: { priority: number; lane: string },
  count: number,
): Statement {
  const next = (position: string) =>
    `select priority, lane from ${t.runs}
      where state = 1 and limited = ${limited} and owner is null and queue = ? and (priority, lane) > ${position}
      order by priority, lane limit 1`;
  return {
    text: `with recursive heads as (
      (select priority, lane, 1 as n from (${next("(?, ?)")}) first)
      union all
      select next.priority, next.lane, heads.n + 1
        from heads cross join lateral (${next("(heads.priority, heads.lane)")}) next where heads.n < ?)
      select priority, lane from heads`,
    params: [queue, after.priority, after.lane, queue, count],
  };
}

/** Escapes of NUL and of lone surrogates, which `JSON.stringify` writes and PostgreSQL rejects in JSON. */
const REJECTED_ESCAPE = String.raw`(?<!\\)((?:\\\\)*)\\u(?:0000|[dD][89a-fA-F][0-9a-fA-F]{2})`;

const STEPS = "array(select jsonb_array_elements_text(?::text::jsonb))";

/** The lower case of a Turkish database has no i for I. */
export function lower(column: string): string {
  return `lower((${column}) collate "C")`;
}

/**
 * A path step with a sign, which names a member of an object. In an array PostgreSQL would read it as an index, a
 * negative one from the end.
 */
const SIGNED = /^\s*[+-]/;

export function scalar(column: string, path: string[]): Statement {
  const readable = `case when strpos(${column}, '\\u') > 0 then regexp_replace(${column}, '${REJECTED_ESCAPE}', '\\1?', 'g') else ${column} end`;
  const parentsOfSigned = path.flatMap((step, index) => (SIGNED.test(step) ? [path.slice(0, index)] : []));
  const areNoArrays = parentsOfSigned.map(() => `json_typeof(d.j #> ${STEPS}) is distinct from 'array'`);
  return {
    text: `(case when ${column} ~ '^[[:space:]]*[{[]' then (
      select case json_typeof(v.j) when 'null' then 'null' when 'object' then null when 'array' then null else v.j #>> '{}' end
        from (select d.j #> ${STEPS} as j from (select (${readable})::json as j offset 0) d
               where ${["true", ...areNoArrays].join(" and ")} offset 0) v) end)`,
    params: [path, ...parentsOfSigned].map((steps) => JSON.stringify(steps)),
  };
}

/** `offset 0` keeps the planner from turning the lookups into another join. */
export function runsOfMembers(members: string, table: string): string {
  return `${members} m cross join lateral (select * from ${table} where id = m.run_id offset 0) r`;
}

/** A subquery: of a number that it does not know, the planner assumes a tenth of the rows. */
export function upTo(rows: number): string {
  return `limit (select ${rows})`;
}

/** Replaces the row that has the key. */
export function orReplace(key: readonly string[], columns: readonly string[]): string {
  const sets = columns.map((column) => `${column} = excluded.${column}`);
  return ` on conflict (${key.join(", ")}) do update set ${sets.join(", ")}`;
}

/** Leaves out invalid indexes: an interrupted `create index concurrently` leaves one, and PostgreSQL ignores it. */
export function objects(tables: Tables): Statement {
  const text = `select c.relname as name from pg_class c left join pg_index i on i.indexrelid = c.oid
       where coalesce(i.indisvalid, true)
         and c.relnamespace = (select relnamespace from pg_class where oid = to_regclass(cast(? as text)))`;
  return { text, params: [tables.migrations] };
}
