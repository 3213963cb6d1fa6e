import type { Mutant } from "./mutant.ts";

const tests = ["test/api/worker-requests.test.ts"];

/** Requests of operators to workers: note 63. */
export const mutants: Mutant[] = [
  {
    rule: "A paused worker releases the runs that it has claimed and not started.",
    file: "src/worker/worker.ts",
    find: "    if (paused) this.#releaseAll();\n",
    replace: "",
    tests,
    only: "releases runs that it has claimed",
  },
  {
    rule: "A paused worker claims nothing.",
    file: "src/worker/exchanges.ts",
    find: "if (this.#isIdle) return NO_ROOM;",
    replace: 'if (this.#mode === "stopping") return NO_ROOM;',
    tests,
    only: "claims and ticks nothing",
  },
  {
    rule: "A paused worker ticks nothing.",
    file: "src/worker/exchanges.ts",
    find: "if (!ticker || this.#isIdle || (",
    replace: 'if (!ticker || this.#mode === "stopping" || (',
    tests,
    only: "claims and ticks nothing",
  },
  {
    rule: "A heartbeat that is under way when a worker ends does not insert its row again.",
    file: "src/worker/work-session.ts",
    find: "      await this.#beats;\n",
    replace: "",
    tests,
    only: "can be stopped",
  },
  {
    rule: "A worker tells at once that it has obeyed.",
    file: "src/worker/work-session.ts",
    find: "    if (presence.activity !== before) await presence.beat();\n",
    replace: "    void before;\n",
    tests,
    only: "finishes what it runs, and its forever",
  },
  {
    rule: "A request does not outlive the session of its worker.",
    file: "src/store/sql/workers.ts",
    find: "    await this.#sql.run(`update ${this.#sql.t.workers} set request = null where id = ?`, worker);\n",
    replace: "",
    tests: [...tests, "test/conformance/sqlite.test.ts"],
    only: "starts again with the same instance|forget a request when they end",
  },
  {
    rule: "A request to stop is not replaced by a later one.",
    file: "src/store/sql/workers.ts",
    find: 'if (readRequest(row.request)?.action === "stop") return "stopping";',
    replace: "",
    tests: ["test/conformance/sqlite.test.ts"],
    only: "keep a request to stop",
  },
  {
    rule: "Reports do not count paused workers as serving their queues.",
    file: "src/store/worker-records.ts",
    find: ' && (facts?.activity ?? "working") === "working"',
    replace: " && facts !== undefined",
    tests,
    only: "claims and ticks nothing",
  },
];
