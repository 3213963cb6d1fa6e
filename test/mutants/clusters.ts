import type { Mutant } from "./mutant.ts";

const spread = {
  tests: ["test/faults/galera.test.ts"],
  only: "reach different nodes",
  stores: ["mariadb"],
} satisfies Partial<Mutant>;

export const mutants: Mutant[] = [
  {
    rule: "On a cluster, a claim writes to the gates that it has locked.",
    file: "src/store/sql/gates.ts",
    find: "set turn = turn + 1 where",
    replace: "set turn = turn where",
    tests: ["test/faults/galera.test.ts"],
    only: "within its limits",
    stores: ["mariadb"],
  },
  {
    rule: "On a cluster, a transaction is not committed if the node has rolled it back.",
    file: "src/store/mysql/transaction.ts",
    find: "if (cluster) await pipeline.send(CHECK, []).catch(asRolledBack);",
    replace: "",
    tests: ["test/faults/galera.test.ts"],
    only: "does not notice",
    stores: ["mariadb"],
  },
  {
    rule: "On a cluster, no statement of a transaction is committed by itself.",
    file: "src/store/mysql/cluster.ts",
    find: '["set autocommit = 0", "start transaction",',
    replace: '["start transaction",',
    tests: ["test/faults/galera.test.ts"],
    only: "does not notice",
    stores: ["mariadb"],
  },
  {
    rule: "On a cluster, statements of a transaction are text.",
    file: "src/store/mysql/transaction.ts",
    find: "const send = this.#isClustered ? queryAsText : query;",
    replace: "const send = query;",
    tests: ["test/faults/galera.test.ts"],
    only: "no statement is prepared",
    stores: ["mariadb"],
  },
  {
    rule: "Only one node of a cluster installs at a time.",
    file: "src/store/mysql/install-lock.ts",
    find: "while (!(await hasInserted(tx, table))) {",
    replace: "while (!(await hasInserted(tx, table)) && false) {",
    tests: ["test/faults/galera.test.ts"],
    only: "on every node at once",
    stores: ["mariadb"],
  },
  {
    rule: "On a node that lags, a missing row is looked for again before a lease counts as lost.",
    file: "src/store/mysql/transaction.ts",
    find: "    if (progress.catchesUp) return;\n",
    replace: "    return;\n",
    ...spread,
  },
  {
    rule: "A node that lags is waited for before a row is looked for again.",
    file: "src/store/mysql/transaction.ts",
    find: "...(cluster && catchesUp ? [CATCH_UP[cluster]] : []),",
    replace: "",
    ...spread,
  },
  {
    rule: "A settlement whose run has not reached the node is no lost lease.",
    file: "src/store/sql/settle.ts",
    find: "  if (mine.length < settlements.length) tx.missed();\n",
    replace: "",
    ...spread,
  },
];
