import type { Mutant } from "./mutant.ts";

const sqlite = { tests: ["test/conformance/sqlite.test.ts"], stores: ["sqlite"] } as const;
const conformance = (only: string) => ({ tests: [...sqlite.tests], stores: [...sqlite.stores], only });
const postgres = (only: string): Pick<Mutant, "tests" | "stores" | "only"> => ({
  tests: ["test/conformance/postgres.test.ts"],
  stores: ["postgres"],
  only,
});

export const mutants: Mutant[] = [
  {
    rule: "A changed schedule goes on from when a worker last showed it, not from its last tick alone.",
    file: "src/store/sql/schedules.ts",
    find: "Math.max(row.last_tick ?? 0, seenAt ?? now)",
    replace: "row.last_tick ?? seenAt ?? now",
    ...conformance("a definition that is synced again"),
  },
  {
    rule: "A changed schedule ticks for what fell due since a worker last showed it.",
    file: "src/store/sql/schedules.ts",
    find: "const next = row.fingerprint === fingerprint ? row.next_tick : wanted.next(since);",
    replace: "const next = row.fingerprint === fingerprint ? row.next_tick : wanted.next(now);",
    ...conformance("a definition that is synced again"),
  },
  {
    rule: "A worker with older code does not define a former name while newer code has the job.",
    file: "src/store/sql/renames.ts",
    find: "const isOurs = mayDefine(rowOf(from)) && mayDefine(rowOf(to ?? from));",
    replace: "const isOurs = mayDefine(rows.get(to ?? from));",
    ...conformance("beside workers that have the old code"),
  },
  {
    rule: "Old code that started later keeps the old name when the new code is shown after it.",
    file: "src/store/sql/renames.ts",
    find: "else if (isDefined(rows.get(from)) && !isDefined(rowOf(to))) await takeOver(to, from);",
    replace: "",
    ...conformance("keeps the old name if the old code"),
  },
  {
    rule: "A former name is kept although the old name was not known when it was given up.",
    file: "src/store/sql/renames.ts",
    find: "if (!defined.has(old) && former.get(old) !== name) add(old, name);",
    replace: "if (!defined.has(old) && former.has(old) && former.get(old) !== name) add(old, name);",
    ...conformance("beside workers that have the old code"),
  },
  {
    rule: "Code that defines both names has two jobs: neither takes the other over.",
    file: "src/store/sql/renames.ts",
    find: "if (defined.has(taken)) add(name, null);\n    else add(taken, name);",
    replace: "add(taken, name);",
    ...conformance("if code defines both names"),
  },
  {
    rule: "A chain of renames leads to the last name.",
    file: "src/store/sql/renames.ts",
    find: "  await tx.run(`update ${t.aliases} set job = ? where job = ?`, to, from);\n",
    replace: "",
    ...conformance("a chain of renames"),
  },
  {
    rule: "A rename keeps the marks of the schedules.",
    file: "src/store/sql/renames.ts",
    find: "where job = ? and slot not in (select slot",
    replace: "where job = ? and slot in (select slot",
    ...conformance("beside workers that have the old code"),
  },
  {
    rule: "A worker looks at the former names again behind the locks of its jobs.",
    file: "src/store/sql/sync.ts",
    find: "return { jobs: jobs.filter(({ name }) => !isFormer(name)), known };",
    replace: "return { jobs, known };",
    ...postgres("syncs during the rename"),
  },
  {
    rule: "What is dispatched under a former name goes to its job, except ad hoc runs.",
    file: "src/store/sql/former-names.ts",
    find: "const job = run.owner === null ? former.get(run.name) : undefined;",
    replace: "const job = former.get(run.name);",
    ...conformance("runs that are dispatched under the old name"),
  },
  {
    rule: "The earliest due schedules tick first.",
    file: "src/store/sql/ticks.ts",
    find: "and s.next_tick <= ? order by s.next_tick limit ?",
    replace: "and s.next_tick <= ? order by s.next_tick desc limit ?",
    ...conformance("ticking in slices"),
  },
  {
    rule: "A slice ends early where its schedules have very many ticks to make up for.",
    file: "src/store/sql/ticks.ts",
    find: "work += decision.runs.length + decision.missed;",
    replace: "work += decision.missed;",
    ...conformance("a slice ends early"),
  },
  {
    rule: "The worker claims between two slices.",
    file: "src/schedule/ticker.ts",
    find: "limit: SLICE, decide",
    replace: "limit: SLICE * 100, decide",
    tests: ["test/api/many-schedules.test.ts"],
  },
  {
    rule: "A worker ticks a schedule only by the definition that the database has.",
    file: "src/schedule/ticker.ts",
    find: "job?.fingerprint === due.jobFingerprint ? job.schedule(due.slot) : undefined",
    replace: "job?.schedule(due.slot)",
    tests: ["test/api/schedules.test.ts"],
    only: "with older code do not tick",
  },
  {
    rule: "A pass of run() does not end while schedules are due.",
    file: "src/worker/exchanges.ts",
    find: "if (unsettled > 0 || (this.#parts.ticker?.isDue && !this.#isIdle)) return false;",
    replace: "if (unsettled > 0) return false;",
    tests: ["test/api/many-schedules.test.ts"],
    only: "a pass of run",
  },
  {
    rule: "A list of unique keys is read in groups.",
    file: "src/store/sql/database.ts",
    find: "for (const group of inGroups(items)) rows.push(await read(group));",
    replace: "for (const group of [[...items]]) rows.push(await read(group));",
    ...postgres("runs are inserted together, with and without"),
  },
  {
    rule: "08P01 of the server itself is not a lost connection.",
    file: "src/store/postgres/errors.ts",
    find: 'return codeOf(error) === "08P01" && typeof routine === "string";',
    replace: 'return codeOf(error) === "08P01" && typeof routine !== "string";',
    tests: ["test/unit/postgres-errors.test.ts"],
  },
];
