import type { Mutant } from "./mutant.ts";

const tests = ["test/faults/frozen-transaction.test.ts"];

/** Faults that let others wait for the locks of a frozen worker. */
export const mutants: Mutant[] = [
  {
    rule: "The end of ownerless runs leaves out runs that another transaction has locked.",
    file: "src/store/sql/control.ts",
    find: "endRuns(tx, which, end, { lock: sql.db.skipLocked })",
    replace: "endRuns(tx, which, end)",
    tests,
    only: "PostgreSQL.*an exchange that froze",
  },
  {
    rule: "A prune leaves out finished runs that another transaction has locked.",
    file: "src/store/sql/prune.ts",
    find: 'db.skipLocked && ` order by r.id${db.lockOnly(db.skipLocked, "r")}`',
    replace: 'db.forUpdate && ` order by r.id${db.lockOnly(db.forUpdate, "r")}`',
    tests,
    only: "PostgreSQL.*a prune that froze",
  },
  {
    rule: "A prune ends although another transaction has locked all that it finds.",
    file: "src/store/sql/prune.ts",
    find: "if (ended === 0 && !selection.scan) break;",
    replace: "",
    tests,
    only: "PostgreSQL.*a prune that froze",
  },
  {
    rule: "Rows of dead workers that another transaction has locked are left.",
    file: "src/store/sql/workers.ts",
    find: "limit ${FORGOTTEN_AT_ONCE}${db.skipLocked}`",
    replace: "limit ${FORGOTTEN_AT_ONCE}${db.forUpdate}`",
    tests,
    only: "PostgreSQL.*a reap that froze",
  },
  {
    rule: "A write of counts gives up its place in the lock queue after a while.",
    file: "src/store/sql/jobs.ts",
    find: "sql.transaction(write, { lockTimeout: true })",
    replace: "sql.transaction(write)",
    tests,
    only: "PostgreSQL.*a write of counts that froze",
  },
  {
    rule: "A sync of jobs gives up its place in the lock queue after a while.",
    file: "src/store/sql/sync.ts",
    find: "sql.transaction(write, { lockTimeout: true })",
    replace: "sql.transaction(write)",
    tests,
    only: "PostgreSQL.*a sync of jobs that froze",
  },
  {
    rule: "Locked rows of counts and jobs do not stop the reaping.",
    file: "src/worker/janitor.ts",
    find: "const FAILING_ALONE = [REAPING, COUNTING, SYNCING, PRUNING, SWEEPING, RAISING];",
    replace: "const FAILING_ALONE = [REAPING];",
    tests: ["test/unit/janitor.test.ts"],
  },
  {
    rule: "PostgreSQL ends a transaction of ours whose process is silent.",
    file: "src/store/postgres/transaction.ts",
    find: "const BEGIN_OURS = `${BEGIN}; ${PLAN_SETTINGS}; ${SET_IDLE_TIMEOUT}`;",
    replace: "const BEGIN_OURS = `${BEGIN}; ${PLAN_SETTINGS}`;",
    tests,
    only: "PostgreSQL.*host that is silent",
  },
  {
    rule: "MySQL and MariaDB end a transaction of ours whose process is silent.",
    file: "src/store/mysql/transaction.ts",
    find: "...(hasWaitTimeout(settings) ? [SET_WAIT_TIMEOUT] : []),",
    replace: "",
    tests,
    only: "M.*host that is silent",
  },
  {
    rule: "Connections that are idle after a transaction stay open.",
    file: "src/store/mysql/transaction.ts",
    find: "...(hasWaitTimeout(settings) ? [RESTORE_WAIT_TIMEOUT] : []),",
    replace: "",
    tests,
    only: "M.*idle after a transaction of ours",
  },
];
