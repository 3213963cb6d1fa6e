import type { Mutant } from "./mutant.ts";

const MARK = "src/worker/process-mark.ts";
const sqlite = {
  tests: ["test/conformance/sqlite.test.ts"],
  stores: ["sqlite"],
  only: "workers whose process has ended",
} satisfies Partial<Mutant>;
const unit = { tests: ["test/unit/process-mark.test.ts"] } satisfies Partial<Mutant>;
const janitor = { tests: ["test/unit/janitor.test.ts"] } satisfies Partial<Mutant>;

/** Faults in the reap of workers whose process is known to have ended (note 50). */
export const mutants: Mutant[] = [
  {
    rule: "A worker that was seen a moment ago keeps its runs.",
    file: "src/store/sql/reap.ts",
    find: "await lockWorker(tx, worker, now - WORKER_SILENT_AFTER)",
    replace: "await lockWorker(tx, worker, now)",
    ...sqlite,
  },
  {
    rule: "All runs of an ended process are taken back, whether their leases have ended or not.",
    file: "src/store/sql/reap.ts",
    find: "lockAllExpired(tx, worker, Number.MAX_SAFE_INTEGER)",
    replace: "lockAllExpired(tx, worker, now)",
    ...sqlite,
  },
  {
    rule: "Workers of other hosts are left alone.",
    file: "src/store/sql/workers.ts",
    find: "w where host = ? and exists (",
    replace: "w where host >= ? and exists (",
    ...sqlite,
  },
  {
    rule: "The ids of processes are compared only within one kernel and one namespace.",
    file: MARK,
    find: "if (pidSpace() !== mark.slice(0, end)) return false;",
    replace: "if (pidSpace() === null) return false;",
    ...unit,
  },
  {
    rule: "A process id that another process has by now is that of an ended process.",
    file: MARK,
    find: "return start !== null && start !== mark.slice(end + 1);",
    replace: "return start === null;",
    ...unit,
  },
  {
    rule: "A process is known by the time of its start.",
    file: MARK,
    find: "const START_TIME = 19;",
    replace: "const START_TIME = 11;",
    tests: ["test/unit/process-mark.test.ts"],
    only: "does not change",
  },
  {
    rule: "A worker does not reap its own runs.",
    file: "src/worker/gone-workers.ts",
    find: "worker.id !== id && ",
    replace: "",
    ...janitor,
  },
  {
    rule: "A janitor reaps an ended process as soon as it is silent.",
    file: "src/worker/janitor.ts",
    find: "if (again !== null) this.#reapAfter(again);",
    replace: "",
    ...janitor,
  },
  {
    rule: "A supervisor gives no mark: its children may outlive it.",
    file: "src/supervisor/supervisor.ts",
    find: "isOneProcess: false,",
    replace: "isOneProcess: true,",
    tests: ["test/process/supervisor-signals.test.ts"],
    only: "gives no mark",
  },
];
