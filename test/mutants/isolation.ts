import type { Mutant } from "./mutant.ts";

const api = { tests: ["test/api/isolation.test.ts"] };
const store: Pick<Mutant, "tests" | "only" | "stores"> = {
  tests: ["test/conformance/sqlite.test.ts"],
  only: " isolation ",
  stores: ["sqlite"],
};

export const mutants: Mutant[] = [
  {
    rule: "A claim takes no more crashed runs than the worker can isolate.",
    file: "src/store/sql/claimed.ts",
    find: "++crashed <= request.crashed",
    replace: "crashed++ <= request.crashed",
    ...store,
  },
  {
    rule: "A claim that takes no crashed runs looks past them.",
    file: "src/store/sql/claimed.ts",
    find: 'return crashed > 0 ? "" : " and crashes = 0";',
    replace: 'return crashed >= 0 ? "" : " and crashes = 0";',
    ...store,
  },
  {
    rule: "Only a run that was alone ends at the lower number of crashes.",
    file: "src/store/sql/reap.ts",
    find: "isolated === 1 ? cap.isolated : cap.shared",
    replace: "isolated === 1 || crashes > 1 ? cap.isolated : cap.shared",
    ...store,
  },
  {
    rule: "A run that waits again is not isolated any more.",
    file: "src/store/sql/settle.ts",
    find: '          isolated: "0",\n',
    replace: "",
    ...store,
  },
  {
    rule: "Other runs are admitted after some seconds, even beside a run that goes on.",
    file: "src/worker/isolation.ts",
    find: 'phase === "alone" && since <= late',
    replace: 'phase === "alone" && since < late - ALONE_FOR',
    ...api,
    only: "is alone for five seconds",
  },
  {
    rule: "The store is told that a run has neighbours before they are admitted.",
    file: "src/worker/isolation.ts",
    find: "store.start(run, false)",
    replace: "store.start(run, true)",
    ...api,
    only: "is alone for five seconds",
  },
  {
    rule: "After all processes were closed, the last one stays open for as long.",
    file: "src/worker/isolation.ts",
    find: "this.#restsUntil = now + rest;",
    replace: "this.#restsUntil = now;",
    ...api,
    only: "of many long ones",
  },
  {
    rule: "A run with two crashes shares its process with no other crashed run.",
    file: "src/worker/isolation.ts",
    find: "run.crashes >= APART_FROM",
    replace: "run.crashes > APART_FROM",
    ...api,
    only: "with two crashes",
  },
  {
    rule: "A lost lease opens the process, whether the handler returns or not.",
    file: "src/worker/worker.ts",
    find: "    this.#isolation.lose(run);\n",
    replace: "",
    ...api,
    only: "cancelled by force",
  },
  {
    rule: "A crashed run that starts beside others is not taken for an isolated one.",
    file: "src/worker/worker.ts",
    find: "store.start(run, cell.isEmpty())",
    replace: "store.start(run, true)",
    ...api,
    only: "ten seconds at most",
  },
  {
    rule: "The runs that were claimed with a crashed run are released before it starts.",
    file: "src/worker/worker.ts",
    find: "for (const run of this.#buffer.takeAll()) this.#giveBack(run);",
    replace: "",
    ...api,
    only: "claimed together",
  },
];
