-- What MySQL receives when a worker ticks schedules.
-- Written by test/docs/sql.test.ts with UPDATE_DOCS=1. See docs/sql/README.md.

-- ## No schedule is due.

-- Reads when the next schedule is due.
select s.next_tick as next
from punctual_schedules s force index (punctual_schedules_next)
where s.next_tick is not null
  and s.paused_at is null
  and (select j.paused_at from punctual_jobs j where j.name = s.job) is null
order by s.next_tick
limit 1;

-- ## One schedule is due.

-- Again: Reads when the next schedule is due.

-- Sets the isolation level of the next transaction.
set transaction isolation level read committed;

-- Begins the transaction.
start transaction;

-- Reads the due schedules. On a server it locks them, except those that others tick.
-- ?1 = 1767225660000, ?2 = '100'
select s.id, s.job, s.slot, s.last_tick, s.next_tick, s.resumed_at
from punctual_schedules s force index (punctual_schedules_next)
where s.next_tick is not null
  and s.paused_at is null
  and (select j.paused_at from punctual_jobs j where j.name = s.job) is null
  and s.next_tick <= ?
order by s.next_tick
limit ?
for update of s skip locked;

-- Reads for each schedule the code that defined its job, and whether a run of an earlier tick still waits.
-- ?1 = '[[1,"cleanup"]]'
select v.id, (select j.fingerprint from punctual_jobs j where j.name = v.job) as fingerprint,
  (
    select r.id
    from punctual_runs r force index (punctual_runs_tick)
    where r.schedule = v.id and r.state in (0, 1)
    limit 1
  ) as first
from (
  select *
  from json_table(
    ?,
      '$[*]' columns (
        id bigint path '$[0]' error on error,
          job longtext character set utf8mb4 collate utf8mb4_0900_bin path '$[1]' error on error
      )
  ) j
) v;

-- Moves the marks of the schedules: last tick, next tick, missed ticks.
-- ?1 = '[[1,1767225660000,1767225720000,0]]'
update (
  select *
  from json_table(
    ?,
      '$[*]' columns (
        id bigint path '$[0]' error on error, last bigint path '$[1]' error on error,
          next bigint path '$[2]' error on error, more_missed bigint path '$[3]' error on error
      )
  ) j
) v
straight_join punctual_schedules r force index (primary) on r.id = v.id
set r.last_tick = v.last, r.next_tick = v.next, r.missed = r.missed + v.more_missed, r.resumed_at = null;

-- Reads the runs of these ticks.
-- ?1 = '[[1,1767225660000]]'
select r.id, r.schedule, r.tick_at
from (
  select *
  from json_table(
    ?,
      '$[*]' columns (schedule_id bigint path '$[0]' error on error, moment bigint path '$[1]' error on error)
  ) j
) v
straight_join punctual_runs r force index (punctual_runs_tick) on r.schedule = v.schedule_id
  and r.tick_at = v.moment;

-- Asks which variables identify the server.
show variables where variable_name in ('wsrep_on', 'group_replication_group_name');

-- Reserves ids for the new runs.
-- ?1 = 0, ?2 = 1
update punctual_ids
set next = last_insert_id(greatest(next, ?) + ? + if(mark in ('', @@server_uuid), 0, 1000000)),
  mark = @@server_uuid
where id = 1;

-- Inserts the run of the tick, ready to be claimed.
-- ?1 = 1, ?2 = 'cleanup', ?3 = 'default', ?4 = 'cleanup', ?5 = 100, ?6 = 1767225660000, ?7 = 1, ?8 = 1
-- ?9 = 1767225660000, ?10 = 1767225660000, ?11 = 'cleanup', ?12 = 'default'
insert into punctual_runs (id, name, queue, lane, priority, run_at, state, schedule, tick_at, created_at, limited)
select ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
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
