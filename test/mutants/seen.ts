import type { Mutant } from "./mutant.ts";

const definers = "src/store/sql/definers.ts";
const sync = "src/store/sql/sync.ts";

const conformance = (only: string): Pick<Mutant, "tests" | "stores" | "only"> => ({
  tests: ["test/conformance/sqlite.test.ts"],
  stores: ["sqlite"],
  only,
});

export const mutants: Mutant[] = [
  {
    rule: "A job was last seen with the last heartbeat of the worker that defined it.",
    file: definers,
    find: "case when w.seen_at > j.seen_at then w.seen_at else j.seen_at end",
    replace: "j.seen_at",
    ...conformance("jobs of live workers"),
  },
  {
    rule: "Heartbeats of a process that executes nothing do not stand for jobs.",
    file: definers,
    find: "on w.id = j.defined_by and w.parallel > 0",
    replace: "on w.id = j.defined_by",
    ...conformance("a process that executes nothing"),
  },
  {
    rule: "The heartbeats of a process do not stand for jobs that it has released.",
    file: definers,
    find: ", defined_by = '${RELEASED}'",
    replace: "",
    ...conformance("jobs of live workers"),
  },
  {
    rule: "The jobs of a dead worker were last seen with its last heartbeat, not when it is forgotten.",
    file: "src/store/sql/workers.ts",
    find: "await releaseJobs(tx, id, seenAt);",
    replace: "await releaseJobs(tx, id, now);",
    ...conformance("also once it is forgotten"),
  },
  {
    rule: "A worker that leaves writes when its jobs were last seen.",
    file: "src/store/sql/workers.ts",
    find: "  await releaseJobs(sql, worker, now);\n",
    replace: "",
    ...conformance("stay seen when their worker leaves"),
  },
  {
    rule: "A sync releases the jobs that its worker has defined and defines no longer.",
    file: sync,
    find: "if (census.jobsOf(sync.worker) > own)",
    replace: "if (census.jobsOf(sync.worker) < own)",
    ...conformance("that a worker defines no longer"),
  },
  {
    rule: "A sync does not write to a job for which heartbeats stand.",
    file: sync,
    find: "if (!definers.covers(row)) return true;",
    replace: "if (!definers.covers(row) || row.defined_by === sync.worker) return true;",
    ...conformance("no sync writes to them"),
  },
  {
    rule: "Every sync writes to its jobs while a worker of an older version is alive.",
    file: definers,
    find: "return !this.#hasOlder && id !== null",
    replace: "return id !== null",
    ...conformance("a worker of an older version is alive"),
  },
  {
    rule: "A worker writes when its jobs were last seen once an hour, for older versions.",
    file: sync,
    find: "(row.seen_at ?? 0) < now - REFRESHED_AFTER",
    replace: "(row.seen_at ?? 0) > now",
    ...conformance("once an hour, for older versions"),
  },
  {
    rule: "A sync that has written something is repeated in full.",
    file: sync,
    find: "census: hasWritten ? null : text",
    replace: "census: text",
    ...conformance("jobs of live workers"),
  },
  {
    rule: "The census of a sync tells whether a worker that has defined jobs is alive.",
    file: definers,
    find: "when w.id is null or w.seen_at <= ? then 0",
    replace: "when w.id is null or w.seen_at < ? - 3600000 then 0",
    ...conformance("once a worker has ended, died or redefined one"),
  },
  {
    rule: "A changed schedule goes on from the last heartbeat of the worker that defined its job.",
    file: definers,
    find: "return written === null || beat === undefined ? written : Math.max(written, beat);",
    replace: "return beat === undefined ? written : written;",
    ...conformance("go on from the last heartbeat of their worker"),
  },
  {
    rule: "A job is not pruned while the worker that defined it is alive.",
    file: "src/store/sql/prune-selection.ts",
    find: "and w.parallel > 0 and w.seen_at >= ?)",
    replace: "and w.parallel > 0 and w.seen_at < ?)",
    ...conformance("are not pruned, nor are their runs"),
  },
  {
    rule: "A worker whose session ends releases its jobs although its instance lives on for ad hoc functions.",
    file: "src/worker/presence.ts",
    find: "if (registry.hasAdHoc()) return store.releaseJobs(id);",
    replace: "if (registry.hasAdHoc()) return;",
    tests: ["test/api/ad-hoc.test.ts"],
    only: "releases its jobs",
  },
  {
    rule: "A changed definition is synced although the census is the same.",
    file: "src/worker/job-sync.ts",
    find: "    this.#synced = null;\n    this.#census = null;\n",
    replace: "    this.#synced = null;\n",
    tests: ["test/api/worker.test.ts"],
    only: "syncs what is defined while it works",
  },
];
