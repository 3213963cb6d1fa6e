-- What SQLite receives when dispatches are inserted.
-- Written by test/docs/sql.test.ts with UPDATE_DOCS=1. See docs/sql/README.md.

-- ## Two runs of a job; the second one is due in a minute.

-- Begins the transaction.
begin immediate;

-- Reads the job that had this name formerly.
-- ?1 = 'email'
select job from punctual_aliases where name = ?;

-- Looks for the rows of the jobs, at most once a second for each. A job without a row gets one.
-- ?1 = 'email'
select 1 as one from punctual_jobs where name = ?;

-- Inserts the row of a job that no worker has defined yet.
-- ?1 = 'email', ?2 = 'default', ?3 = 100, ?4 = 0, ?5 = 0, ?6 = '', ?7 = 0, ?8 = 1767225600000
insert into punctual_jobs (name, queue, priority, lim, key_lim, fingerprint, defined_at, created_at)
values (?, ?, ?, ?, ?, ?, ?, ?);

-- Inserts runs; the limit hint (`limited`) comes from the rows of jobs and queues.
-- ?1 = 'email', ?2 = 'default', ?3 = 'email', ?4 = 100, ?5 = 1767225600000, ?6 = 'email', ?7 = 'default'
-- ?8 = '[["[\"ada\"]",1767225600000,1],["[\"bob\"]",1767225660000,0]]'
insert into punctual_runs (args, name, queue, lane, priority, run_at, state, created_at, limited)
select v.args, ?, ?, ?, ?, v.run_at, v.state, ?,
  case when (
    exists (
        select 1
        from punctual_jobs j
        where j.name = ? and (j.lim > 0 or j.key_lim > 0 or j.paused_at is not null)
      )
      or exists (select 1 from punctual_queues q where q.name = ? and q.lim > 0)
  ) then 1 else 0 end
from (select value ->> 0 as args, value ->> 1 as run_at, value ->> 2 as state from json_each(?)) v
where true
returning id;

-- Commits.
commit;

-- ## A run with a unique key.

-- Again: Begins the transaction.

-- Again: Reads the job that had this name formerly.

-- Again: Looks for the rows of the jobs, at most once a second for each. A job without a row gets one.

-- Again: Inserts the row of a job that no worker has defined yet.

-- Frees the unique key if its window has ended.
-- ?1 = 'report|2026-01', ?2 = 1767225600000
update punctual_runs set unique_key = null where unique_key = ? and unique_scope = 0 and unique_until <= ?;

-- Reads the unfinished run that holds the unique key.
-- ?1 = 'report|2026-01'
select id from punctual_runs where unique_key = ?;

-- Reads a finished run whose window still holds the unique key.
-- ?1 = 'report|2026-01', ?2 = 1767225600000
select id from punctual_history where unique_key = ? and unique_until > ? order by unique_until desc limit 1;

-- Inserts runs; the limit hint (`limited`) comes from the rows of jobs and queues.
-- ?1 = 'report', ?2 = 'default', ?3 = 'report', ?4 = 100, ?5 = 1767225600000, ?6 = 1, ?7 = 'report|2026-01'
-- ?8 = 2, ?9 = 1767225600000, ?10 = 'report', ?11 = 'default'
insert into punctual_runs (name, queue, lane, priority, run_at, state, unique_key, unique_scope, created_at, limited)
select ?, ?, ?, ?, ?, ?, ?, ?, ?,
  case when (
    exists (
        select 1
        from punctual_jobs j
        where j.name = ? and (j.lim > 0 or j.key_lim > 0 or j.paused_at is not null)
      )
      or exists (select 1 from punctual_queues q where q.name = ? and q.lim > 0)
  ) then 1 else 0 end
where true
returning id;

-- Again: Commits.
