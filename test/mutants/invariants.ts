import type { Mutant } from "./mutant.ts";

export const mutants: Mutant[] = [
  {
    rule: "verify() reports only violations that two looks have found.",
    file: "src/operate/verify.ts",
    find: "await sleep(clock, wait);",
    replace: "return first;",
    tests: ["test/api/verify.test.ts"],
  },
  {
    rule: "A chain occupies one slot of a limit that verify() checks.",
    file: "src/store/invariants.ts",
    find: "(isChain(token) ? token : id)",
    replace: "id",
    tests: ["test/conformance/sqlite.test.ts"],
    only: "hold for runs in every state",
    stores: ["sqlite"],
  },
  {
    rule: "Runs that were claimed before a limit was lowered do not exceed it.",
    file: "src/store/invariants.ts",
    find: "surplus === undefined || surplus.startedAt <= definedAt + SYNCED_WITHIN",
    replace: "surplus === undefined",
    tests: ["test/conformance/sqlite.test.ts"],
    only: "before the limit was lowered",
    stores: ["sqlite"],
  },
  {
    rule: "A busy worker may be late: verify() expects promotions only of an idle one.",
    file: "src/store/sql/invariants.ts",
    find: "if (runs.length < parallel) return true;",
    replace: "if (runs.length <= parallel) return true;",
    tests: ["test/conformance/sqlite.test.ts"],
    only: "that no idle worker promotes",
    stores: ["sqlite"],
  },
];
