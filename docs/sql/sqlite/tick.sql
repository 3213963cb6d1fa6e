-- What SQLite receives when a worker ticks schedules.
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
begin immediate;

-- Reads the due schedules. On a server it locks them, except those that others tick.
-- ?1 = 1767225660000, ?2 = 100
select s.id, s.job, s.slot, s.last_tick, s.next_tick, s.resumed_at
from punctual_schedules s
where s.next_tick is not null
  and s.paused_at is null
  and (select j.paused_at from punctual_jobs j where j.name = s.job) is null
  and s.next_tick <= ?
order by s.next_tick
limit ?;

-- Reads for each schedule the code that defined its job, and whether a run of an earlier tick still waits.
-- ?1 = '[[1,"cleanup"]]'
select v.id, (select j.fingerprint from punctual_jobs j where j.name = v.job) as fingerprint,
  (select r.id from punctual_runs r where r.schedule = v.id and r.state in (0, 1) limit 1) as first
from (select value ->> 0 as id, value ->> 1 as job from json_each(?)) v;

-- Moves the marks of the schedules: last tick, next tick, missed ticks.
-- ?1 = '[[1,1767225660000,1767225720000,0]]'
update punctual_schedules as r
set last_tick = v.last, next_tick = v.next, missed = r.missed + v.more_missed, resumed_at = null
from (
  select value ->> 0 as id, value ->> 1 as last, value ->> 2 as next, value ->> 3 as more_missed
  from json_each(?)
) v
where r.id = v.id and true;

-- Reads the runs of these ticks.
-- ?1 = '[[1,1767225660000]]'
select r.id, r.schedule, r.tick_at
from (select value ->> 0 as schedule_id, value ->> 1 as moment from json_each(?)) v
join punctual_runs r on r.schedule = v.schedule_id and r.tick_at = v.moment;

-- Inserts runs; the limit hint (`limited`) comes from the rows of jobs and queues.
-- ?1 = 'cleanup', ?2 = 'default', ?3 = 'cleanup', ?4 = 100, ?5 = 1767225660000, ?6 = 1, ?7 = 1
-- ?8 = 1767225660000, ?9 = 1767225660000, ?10 = 'cleanup', ?11 = 'default'
insert into punctual_runs (name, queue, lane, priority, run_at, state, schedule, tick_at, created_at, limited)
select ?, ?, ?, ?, ?, ?, ?, ?, ?,
  case when (
    exists (
        select 1
        from punctual_jobs j
        where j.name = ? and (j.lim > 0 or j.key_lim > 0 or j.paused_at is not null)
      )
      or exists (select 1 from punctual_queues q where q.name = ? and q.lim > 0)
  ) then 1 else 0 end;

-- Again: Reads the runs of these ticks.

-- Again: Reads when the next schedule is due.

-- Commits.
commit;
