import type { Tables } from "../sql/database.ts";

/** The views for people. A claimed run is running once its start is written, and ready until then. */
export function views(t: Tables): string[] {
  const view = "create or replace view";
  return [
    `${view} ${t.prefix}pending as
       select id, name, queue, priority, case state when 0 then 'scheduled' else 'ready' end as state,
              ${readable("run_at")} as run_at, attempts, crashes, args, unique_key, tags,
              ${readable("created_at")} as created_at
         from ${t.runs} where state in (0, 1) or (state = 2 and started_at is null)
       union all
       select null, s.job, coalesce(s.queue, j.queue), j.priority, 'next tick',
              ${readable("s.next_tick")}, 0, 0, s.args, null, null, null
         from ${t.schedules} s join ${t.jobs} j on j.name = s.job
        where s.next_tick is not null and s.paused_at is null and j.paused_at is null`,
    `${view} ${t.prefix}running as
       select id, name, queue, priority, attempts, crashes, locked_by as worker, child,
              ${readable("started_at")} as started_at, ${readable("locked_until")} as locked_until,
              args, progress, tags
         from ${t.runs} where state = 2 and started_at is not null`,
    `${view} ${t.prefix}failed as
       select id, name, queue, attempts, crashes, worker, child, error,
              ${readable("finished_at")} as finished_at, args, tags
         from ${t.history} where state = 4`,
  ];
}

/** A column of UTC milliseconds as a readable time. */
function readable(column: string): string {
  return `to_char(to_timestamp(${column} / 1000.0) at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS')`;
}
