import type { Mutant } from "./mutant.ts";

export const mutants: Mutant[] = [
  {
    rule: "A refusal of unknown kind does not make an outcome lose its data.",
    file: "src/worker/outbox.ts",
    find: "if (!isDataFault(error)) {",
    replace: "if (isOutage(error)) {",
    tests: ["test/api/outages.test.ts"],
    only: "is sent again while a trigger refuses it",
  },
  {
    rule: "An outcome is written although the claim beside it is refused.",
    file: "src/worker/outbox.ts",
    find: "if (claim) return { ...(await this.#send(settle, started, null)), unclaimed: true };",
    replace:
      "if (claim && settle.length > 1) return { ...(await this.#send(settle, started, null)), unclaimed: true };",
    tests: ["test/api/outages.test.ts"],
    only: "is written although the claim",
  },
  {
    rule: "Nothing is reaped for some seconds after an outage.",
    file: "src/worker/janitor.ts",
    find: "if (outage.wasWithin(REAP_AFTER_OUTAGE, REAPING)) return;",
    replace: "if (outage.isOn) return;",
    tests: ["test/api/outages.test.ts"],
    only: "keeps a worker from reaping",
  },
  {
    rule: "An outage ends when every duty that failed has succeeded.",
    file: "src/observe/outage.ts",
    find: "if (!this.#failing.delete(duty) || this.isOn) return;",
    replace: "this.#failing.clear();",
    tests: ["test/api/outages.test.ts"],
    only: "is logged once",
  },
  {
    rule: "raise() in a trigger of SQLite is no fault of the data.",
    file: "src/store/sqlite/errors.ts",
    find: "if (extendedCode(error) === CONSTRAINT_TRIGGER) return refused();",
    replace: "",
    tests: ["test/unit/sqlite-errors.test.ts"],
    only: "trigger's refusal",
  },
  {
    rule: "A statement prepared in run.transaction() refuses to run once the function has returned.",
    file: "src/store/sqlite/lent.ts",
    find: "return isHandle(result) ? lend(result, loan) : result;",
    replace: "return result;",
    tests: ["test/api/transaction.test.ts"],
    only: "neither before nor after its first await",
  },
  {
    rule: "A hook that is not waited for any more frees the place of its run.",
    file: "src/worker/execute.ts",
    find: "if (!before.has(pending)) this.#pending.delete(pending);",
    replace: "if (before.has(pending)) this.#pending.delete(pending);",
    tests: ["test/api/hooks.test.ts"],
    only: "onSuccess: the outcome is written",
  },
];
