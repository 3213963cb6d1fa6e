-- What PostgreSQL receives when a worker ticks schedules.
-- Written by test/docs/sql.test.ts with UPDATE_DOCS=1. See docs/sql/README.md.

-- ## No schedule is due.

-- Reads when the next schedule is due.
select s.next_tick as next
from punctual_schedules s
where s.next_tick is not null
  and s.paused_at is null
  and (select j.paused_at from punctual_jobs j where j.name = s.job) is null
order by s.next_tick
limit 1;

-- ## One schedule is due.

-- Again: Reads when the next schedule is due.

-- Begins the transaction.
begin isolation level read committed; set local enable_seqscan = off; set local jit = off; set local idle_in_transaction_session_timeout = '10s';

-- Reads the due schedules. On a server it locks them, except those that others tick.
-- $1 = 1767225660000, $2 = 100
select s.id, s.job, s.slot, s.last_tick, s.next_tick, s.resumed_at
from punctual_schedules s
where s.next_tick is not null
  and s.paused_at is null
  and (select j.paused_at from punctual_jobs j where j.name = s.job) is null
  and s.next_tick <= $1
order by s.next_tick
limit $2
for update of s skip locked;

-- Reads for each schedule the code that defined its job, and whether a run of an earlier tick still waits.
-- $1 = '[[1,"cleanup"]]'
select v.id, (select j.fingerprint from punctual_jobs j where j.name = v.job) as fingerprint,
  (select r.id from punctual_runs r where r.schedule = v.id and r.state in (0, 1) limit 1) as first
from (select (e.v ->> 0)::bigint as id, e.v ->> 1 as job from jsonb_array_elements($1::text::jsonb) as e (v)) v;

-- Moves the marks of the schedules: last tick, next tick, missed ticks.
-- $1 = '[[1,1767225660000,1767225720000,0]]'
update punctual_schedules as r
set last_tick = v.last, next_tick = v.next, missed = r.missed + v.more_missed, resumed_at = null
from (
  select (e.v ->> 0)::bigint as id, (e.v ->> 1)::bigint as last, (e.v ->> 2)::bigint as next,
    (e.v ->> 3)::bigint as more_missed
  from jsonb_array_elements($1::text::jsonb) as e (v)
) v
where v.id = r.id;

-- Reads the runs of these ticks.
-- $1 = '[[1,1767225660000]]'
select r.id, r.schedule, r.tick_at
from (
  select (e.v ->> 0)::bigint as schedule_id, (e.v ->> 1)::bigint as moment
  from jsonb_array_elements($1::text::jsonb) as e (v)
) v
join punctual_runs r on r.schedule = v.schedule_id and r.tick_at = v.moment;

-- Asks whether this user may read the timeline of the server.
select has_function_privilege('pg_control_system()', 'execute')
  and has_function_privilege('pg_current_wal_lsn()', 'execute')
  and has_function_privilege('pg_walfile_name(pg_lsn)', 'execute') as may;

-- Records the timeline, and skips ids if it is new.
with moved as (
  update punctual_ids
  set timeline = case when pg_is_in_recovery()
    or to_regproc('aurora_version') is not null then null else (select cast(system_identifier as text) from pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) end
  where id = 1
    and timeline <> case when pg_is_in_recovery()
    or to_regproc('aurora_version') is not null then null else (select cast(system_identifier as text) from pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) end
  returning 1
)
select case when pg_is_in_recovery()
    or to_regproc('aurora_version') is not null then null else (select cast(system_identifier as text) from pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline,
  (select count(nextval('punctual_runs_id_seq')) from moved cross join generate_series(1, 1000000)) as skipped;

-- Reserves ids for the new runs.
-- $1 = 1
select nextval('punctual_runs_id_seq') as id,
  (
    select case when pg_is_in_recovery()
      or to_regproc('aurora_version') is not null then null else (select cast(system_identifier as text) from pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) end
  ) as timeline
from generate_series(1, $1);

-- Inserts the run of the tick, ready to be claimed.
-- $1 = 1, $2 = 'cleanup', $3 = 'default', $4 = 'cleanup', $5 = 100, $6 = 1767225660000, $7 = 1, $8 = 1
-- $9 = 1767225660000, $10 = 1767225660000, $11 = 'cleanup', $12 = 'default'
insert into punctual_runs (id, name, queue, lane, priority, run_at, state, schedule, tick_at, created_at, limited)
select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
  case when (
    exists (
        select 1
        from punctual_jobs j
        where j.name = $11 and (j.lim > 0 or j.key_lim > 0 or j.paused_at is not null)
      )
      or exists (select 1 from punctual_queues q where q.name = $12 and q.lim > 0)
  ) then 1 else 0 end;

-- Again: Reads the runs of these ticks.

-- Again: Reads when the next schedule is due.

-- Commits.
commit;
