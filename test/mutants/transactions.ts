import type { Mutant } from "./mutant.ts";

const sqlite = {
  tests: ["test/conformance/sqlite.test.ts"],
  only: "run\\.transaction\\(\\)",
  stores: ["sqlite"],
} satisfies Partial<Mutant>;

/** Faults in the transaction of a handler, and in the result that a handler returns. */
export const mutants: Mutant[] = [
  {
    rule: "A transaction in which the handler has ended its attempt is rolled back.",
    file: "src/worker/context.ts",
    find: "      this.#refuseEnded();\n      return value;\n",
    replace: "      return value;\n",
    ...sqlite,
  },
  {
    rule: "After the handler has ended its attempt, it gets no transaction.",
    file: "src/worker/context.ts",
    find: "    this.#refuseEnded();\n    return this.#owner.transact(",
    replace: "    return this.#owner.transact(",
    tests: ["test/api/transaction.test.ts"],
    only: "is not called after",
  },
  {
    rule: "An async function is refused on SQLite before it is called.",
    file: "src/worker/context.ts",
    find: "return tag === undefined ? checked :",
    replace: "return tag !== undefined ? checked :",
    tests: ["test/api/transaction.test.ts"],
    only: "refuses an async function",
  },
  {
    rule: "An attempt has one transaction at a time.",
    file: "src/worker/local-execution.ts",
    find: "this.isCompleted || this.#isTransacting",
    replace: "this.isCompleted",
    ...sqlite,
  },
  {
    rule: "A transaction that was rolled back may be followed by another.",
    file: "src/worker/local-execution.ts",
    find: "    } finally {\n      this.#isTransacting = false;\n    }\n",
    replace: "    } finally {\n      this.#isTransacting = true;\n    }\n",
    ...sqlite,
  },
  {
    rule: "A result that is not kept is mentioned in the log of its run.",
    file: "src/worker/attempt-ends.ts",
    find: "    log(run, lostResultLine(dropped.message), undefined);\n",
    replace: "",
    tests: ["test/api/results.test.ts"],
  },
  {
    rule: "A smaller limit of payloads does not apply to results.",
    file: "src/engine.ts",
    find: "maxResult: Math.max(maxPayload, DEFAULT_MAX_PAYLOAD),",
    replace: "maxResult: maxPayload,",
    tests: ["test/api/results.test.ts"],
  },
];
