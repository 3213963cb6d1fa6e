/** Descriptions of the statements in the golden files. The first pattern that matches a statement describes it. */
const DESCRIPTIONS: [RegExp, string][] = [
  [
    /^(begin|start transaction).*insert into \w+_receipts/,
    "Begins the transaction and writes a receipt, by which the store knows later whether it was committed.",
  ],
  [/^(begin|start transaction)/, "Begins the transaction."],
  [/^set transaction isolation level/, "Sets the isolation level of the next transaction."],
  [/^commit/, "Commits."],

  // Insert.
  [/^select name, job from \w+_aliases/, "Reads former names of jobs; the store keeps them for a second."],
  [/^select job from \w+_aliases/, "Reads the job that had this name formerly."],
  [
    /^select r\.name from .*_jobs r|^select 1 as one from \w+_jobs/,
    "Looks for the rows of the jobs, at most once a second for each. A job without a row gets one.",
  ],
  [/^insert (ignore )?into \w+_jobs/, "Inserts the row of a job that no worker has defined yet."],
  [/^select has_function_privilege/, "Asks whether this user may read the timeline of the server."],
  [/^with moved as \(update \w+_ids/, "Records the timeline, and skips ids if it is new."],
  [/^show variables/, "Asks which variables identify the server."],
  [/nextval|last_insert_id/, "Reserves ids for the new runs."],
  [/^select max\(id\) as id/, "Reads the highest id: after a failover, reserved ids may be too low."],
  [
    /^with one as \(insert into \w+_receipts/,
    "Writes a receipt and inserts the runs; the limit hint comes from the rows of jobs and queues.",
  ],
  [
    /^insert into \w+_receipts/,
    "Writes a receipt, by which the store knows later whether the insert was committed.",
  ],
  [
    /^insert into \w+_runs \(id, name, .*schedule, tick_at/,
    "Inserts the run of the tick, ready to be claimed.",
  ],
  [
    /^insert into \w+_runs/,
    "Inserts runs; the limit hint (`limited`) comes from the rows of jobs and queues.",
  ],
  [/^select unique_key, id, unique_scope/, "Reads unfinished runs that hold the unique keys."],
  [
    /^select unique_key, id from \w+_history/,
    "Reads finished runs whose windows still hold the unique keys.",
  ],
  [
    /^select id from \w+_history where unique_key/,
    "Reads a finished run whose window still holds the unique key.",
  ],
  [/^select id from \w+_runs where unique_key/, "Reads the unfinished run that holds the unique key."],
  [/^update \w+_runs set unique_key = null/, "Frees the unique key if its window has ended."],
  [/pg_notify/, "Wakes idle workers. A notification needs no durable commit."],

  // Claim.
  [
    /^with clock as materialized/,
    "Takes the first ready runs that no limit and no pause holds, unless the stream has gone on.",
  ],
  [
    /^select 'job' as kind, name as word/,
    "Reads the facts: paused jobs and queues, queues with ready runs, cancellations, the next due time, the clock.",
  ],
  [
    /^select seq from \w+_exchanges .* for update$/,
    "Locks the row of the stream: a claim that is sent again waits for it.",
  ],
  [
    /^select \* from \(select id, name, queue,.* as bound/,
    "Locks the first ready runs of each queue without the limit hint; `bound` is 1 if a limit holds them by now.",
  ],
  [
    /^select( \* from \(select)? id, name, lane, queue, priority, run_at, cost .*order by priority, run_at, id limit 64/,
    "Reads the first runs under limits of each queue (the window).",
  ],
  [
    /^select 'job' as kind, r\.name, '' as lane/,
    "Reads the limits of these jobs and queues, and how many runs run under each.",
  ],
  [/^select id from \w+_gates/, "Locks the gates of the limits, except those that other claims hold."],
  [
    /^select r\.id, r\.name, r\.queue, r\.lane,.* where r\.state = 1/,
    "Locks and reads the chosen runs that are still ready.",
  ],
  [/^select r\.id, r\.name, r\.queue, r\.lane,/, "Reads the runs that fail, for their hooks."],
  [/^select id from \w+_runs.* where state = 0 and run_at <= /, "Locks scheduled runs that are due."],
  [/^update .*\bstate = 1 where id in \(select id/, "Turns scheduled runs that are due into ready ones."],
  [/^update .*\bstate = 1\b/, "Turns scheduled runs that are due into ready ones."],
  [
    /^update .*\bstate = 2, /,
    "Takes the runs: state running, attempt + 1, lease token, worker, end of the lease.",
  ],
  [
    /^with recursive heads|^select priority, lane from/,
    "Reads the next lanes of the queue that have ready runs.",
  ],
  [
    /lane > \? order by priority, lane, run_at, id limit 1$|priority > \? order by priority, lane, run_at, id limit 1$|queue = \? order by priority, lane, run_at, id limit 1$/,
    "Reads the first run of the next lane.",
  ],
  [/lane = (\?|\$2) order by run_at, id limit/, "Reads the first runs of the lanes."],
  [
    /^select v\.name, \(select min\(j\.name\)/,
    "Reads whether another job's lanes are mixed with those of a blocked job.",
  ],
  [/^select 1 from \w+_jobs/, "Reads whether another job's lanes are mixed with those of a blocked job."],
  [/^select 1 from \w+_runs where state = 1 and limited = 0/, "Reads whether runs without limits are ready."],
  [/^select 1 from \w+_runs where state = 1 and limited = 1/, "Reads whether runs under limits are ready."],
  [
    /^select 1 from \w+_runs where state = 1 and owner/,
    "Reads whether ad hoc runs of this instance are ready.",
  ],
  [/^select run_at from \w+_runs where state = 0/, "Reads when the next scheduled run is due."],
  [
    /^select id from \w+_runs .*cancelled_at is not null/,
    "Reads which runs of this worker somebody asked to cancel.",
  ],
  [/^select name from \w+_jobs where paused_at/, "Reads paused jobs."],
  [/^select 1 as one from \w+_runs r .*locked_until < \S+ order by/, "Looks for a lease that has ended."],
  [/^select name from \w+_queues where paused_at/, "Reads paused queues."],
  [/^select min\(queue\) as queue .*limited = 0/, "Reads the next queue with ready runs without limits."],
  [/^select min\(queue\) as queue .*limited = 1/, "Reads the next queue with ready runs under limits."],
  [/^select id, name, queue,.* where owner is not null/, "Reads ready ad hoc runs of this instance."],
  [
    /^select id, name, queue,.* where state = 1 and limited = 0/,
    "Reads the first ready runs of a queue without limits.",
  ],
  [/^select id, name, queue,.* where id in/, "Reads the chosen runs."],
  [/^select lim, key_lim from/, "Reads the limits of a job."],
  [/^select lim, rate from/, "Reads the limit and the rate of a queue."],
  [
    /^select lease_token as token .* and name = \? and lane = \?/,
    "Reads the leases of running runs of a key: each is a slot.",
  ],
  [
    /^select lease_token as token .* and name = \?/,
    "Reads the leases of running runs of a job: each is a slot.",
  ],
  [
    /^select lease_token as token .* and queue = \?/,
    "Reads the leases of running runs of a queue: each is a slot.",
  ],

  // Settle.
  [/^with gone as/, "Moves the runs whose leases are held from `runs` to `history`, and returns them."],
  [
    /^select r\.id, r\.name, r\.lane, r\.queue, r\.limited, r\.lease_token/,
    "Reads the runs of these leases. On a server it locks them.",
  ],
  [/^(insert|replace) into \w+_history/, "Copies the runs to history."],
  [/^delete .*_runs/, "Deletes the finished runs from `runs`."],
  [/^(insert|replace) into \w+_attempts/, "Records the attempts that failed or crashed."],
  [/^update .*lease_token = null/, "Puts the runs back: ready, or scheduled if they wait."],
  [
    /^update \w+_exchanges set seq/,
    "Stores the number of this exchange: if it is sent again, it settles nothing twice.",
  ],

  // Tick.
  [
    /^select s\.id, s\.job, s\.slot/,
    "Reads the due schedules. On a server it locks them, except those that others tick.",
  ],
  [/^select s\.next_tick as next/, "Reads when the next schedule is due."],
  [
    /^select v\.id, \(select j\.fingerprint/,
    "Reads for each schedule the code that defined its job, and whether a run of an earlier tick still waits.",
  ],
  [/^update .*last_tick = /, "Moves the marks of the schedules: last tick, next tick, missed ticks."],
  [/^select r\.id, r\.schedule, r\.tick_at/, "Reads the runs of these ticks."],

  // Reap.
  [/^select id, locked_by as worker/, "Reads runs whose leases have ended."],
  [
    /^select id from \S*workers where id = /,
    "Reads the row of the dead worker. On a server it locks the row.",
  ],
  [
    /^select r\.id, r\.name, r\.queue, r\.locked_by as worker/,
    "Reads these runs again, if their leases have still ended. On a server it locks them.",
  ],
  [/^update .*crashes = r\.crashes \+ 1/, "Charges the runs with a crash."],
  [/^update .*set (r\.)?suspect = 1/, "Marks the runs that may have been under way."],
];

/** Returns the description of a statement, whose white space must be single spaces. */
export function describeSql(text: string): string {
  const found = DESCRIPTIONS.find(([pattern]) => pattern.test(text));
  if (!found) {
    throw new Error(`This statement has no description in test/docs/support/sql-descriptions.ts: ${text}`);
  }
  return found[1];
}
