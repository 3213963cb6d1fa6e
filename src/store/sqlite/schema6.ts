import type { Migration } from "../sql/migrate.ts";

/** Schema 6: attempts that do not count, runs that may have crashed, and views that show starts (note 46). */
export const schema6: Migration = {
  number: 6,
  compatibleFrom: 3,
  statements: (t) => [
    // Attempts that do not count towards the maximum of the retry policy.
    `alter table ${t.runs} add column uncounted integer not null default 0`,
    `alter table ${t.history} add column uncounted integer not null default 0`,
    // 1: a worker died that may have been executing the run.
    `alter table ${t.runs} add column suspect integer not null default 0`,
    // A claimed run is running once its start is written, and ready until then.
    `drop view ${t.prefix}pending`,
    `drop view ${t.prefix}running`,
    `create view ${t.prefix}pending as
       select id, name, queue, priority, case state when 0 then 'scheduled' else 'ready' end as state,
              strftime('%Y-%m-%d %H:%M:%f', run_at / 1000.0, 'unixepoch') as run_at,
              attempts, crashes, args, unique_key, tags,
              strftime('%Y-%m-%d %H:%M:%f', created_at / 1000.0, 'unixepoch') as created_at
         from ${t.runs} where state in (0, 1) or (state = 2 and started_at is null)
       union all
       select null, s.job, coalesce(s.queue, j.queue), j.priority, 'next tick',
              strftime('%Y-%m-%d %H:%M:%f', s.next_tick / 1000.0, 'unixepoch'), 0, 0, s.args, null, null, null
         from ${t.schedules} s join ${t.jobs} j on j.name = s.job
        where s.next_tick is not null and s.paused_at is null and j.paused_at is null`,
    `create view ${t.prefix}running as
       select id, name, queue, priority, attempts, crashes, locked_by as worker, child,
              strftime('%Y-%m-%d %H:%M:%f', started_at / 1000.0, 'unixepoch') as started_at,
              strftime('%Y-%m-%d %H:%M:%f', locked_until / 1000.0, 'unixepoch') as locked_until,
              args, progress, tags
         from ${t.runs} where state = 2 and started_at is not null`,
  ],
};
