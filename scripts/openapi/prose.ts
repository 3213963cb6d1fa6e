import type { Api } from "../../src/dashboard/api/contract.ts";

/** Purpose of each route, in one sentence. */
export const SUMMARIES: Record<keyof Api, string> = {
  "GET /meta": "Returns the versions, the user and the settings of the dashboard.",
  "GET /overview": "Returns health, figures, problems, queues and next ticks.",
  "GET /trend":
    "Returns how many attempts of one job, one queue or all ended in which way, and how long they took.",
  "GET /runs": "Returns a page of runs that match a query, the newest first.",
  "GET /runs/changes": "Returns the rows of a list as they are now, and counts newer runs.",
  "GET /runs/states": "Counts the runs that match a query by state, up to 10,000 each.",
  "GET /runs/:id": "Returns a run with its attempts, payload, error and lineage.",
  "GET /runs/:id/logs": "Returns log lines of a run after a position.",
  "GET /runs/:id/payload": "Returns the whole arguments, result or progress of a run.",
  "GET /runs/:id/children": "Returns a page of the runs that the handler of a run dispatched.",
  "POST /runs/:id/retry": "Runs a finished run once more, under its id.",
  "POST /runs/:id/cancel": "Cancels a waiting run, or asks a running one to end.",
  "POST /runs/:id/rerun": "Dispatches a copy of a run; edited arguments need the role admin.",
  "DELETE /runs/:id": "Deletes a run that is not running.",
  "POST /runs/bulk": "Starts an operation on many runs; to delete needs the role admin.",
  "GET /bulk/:id": "Returns the state of an operation on many runs.",
  "POST /bulk/:id/stop": "Stops an operation before its next runs.",
  "GET /batches": "Returns a page of batches, the newest first.",
  "GET /batches/changes": "Returns the rows of a list as they are now, and counts newer batches.",
  "GET /batches/:id": "Returns a batch with its counts, its callbacks and the members that failed last.",
  "POST /batches/:id/seal": "Ends the adding of members to a batch, so that it can finish.",
  "POST /batches/:id/cancel":
    "Starts an operation that cancels the waiting members of a batch, and asks the running ones to end.",
  "POST /batches/:id/retry":
    "Starts an operation that runs the failed and cancelled members of a batch again.",
  "GET /jobs": "Returns all jobs.",
  "GET /jobs/:name": "Returns a job with its trend, schedules, failures and last runs.",
  "POST /jobs/:name/dispatch": "Dispatches a run of a job.",
  "POST /jobs/:name/pause": "Stops workers from starting runs of a job.",
  "POST /jobs/:name/resume": "Ends the pause of a job.",
  "GET /queues": "Returns all queues.",
  "GET /queues/:name": "Returns a queue with its trend and jobs.",
  "POST /queues/:name/pause":
    "Stops workers from starting runs of a queue, for a while or until it is resumed.",
  "POST /queues/:name/resume": "Ends the pause of a queue.",
  "GET /rates": "Returns the rates of jobs, keys and queues: how much of each is spent, and when it opens.",
  "GET /schedules": "Returns all schedules, and the number of ticks in each of the next 24 hours.",
  "GET /schedules/:id": "Returns a schedule with its next ticks.",
  "POST /schedules/:id/run": "Dispatches a run with the arguments of a schedule now.",
  "POST /schedules/:id/pause": "Pauses a schedule; its ticks are not made up.",
  "POST /schedules/:id/resume": "Ends the pause of a schedule.",
  "GET /failures": "Returns failed runs, grouped by their error.",
  "POST /failures/:fingerprint/mute": "Mutes a group of failures, for a while or until it is unmuted.",
  "POST /failures/:fingerprint/unmute": "Ends the mute of a group of failures.",
  "GET /workers": "Returns live and silent workers with the runs that they execute.",
  "POST /workers/:worker/pause":
    "Asks a worker to claim nothing until it is resumed. It obeys at its next heartbeat, within about 6 seconds.",
  "POST /workers/:worker/resume": "Lets a paused worker claim again, from its next heartbeat on.",
  "POST /workers/:worker/stop":
    "Asks a worker to end as after SIGTERM. It obeys at its next heartbeat, within about 6 seconds. Cannot be undone.",
  "GET /audit": "Returns a page of the actions of operators, the newest first.",
  "GET /values": "Returns values of a field of the query language that begin with a prefix.",
};

/** Examples of bodies. */
export const EXAMPLES: Partial<Record<keyof Api, unknown>> = {
  "POST /runs/:id/cancel": { force: true },
  "POST /runs/:id/rerun": { args: '{"customer":9223372036854775807}' },
  "POST /runs/bulk": { action: "retry", q: "state:failed job:send-invoice after:24h" },
  "POST /jobs/:name/dispatch": { value: { to: "ana@example.com" }, delay: "5m", tags: ["welcome"] },
  "POST /failures/:fingerprint/mute": { reason: "known, fixed in the next release", for: "1d" },
  "POST /jobs/:name/pause": { reason: "the mail server is down" },
  "POST /queues/:name/pause": { reason: "maintenance", for: "2h" },
};
