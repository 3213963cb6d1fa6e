import { describe, expect, test } from "vitest";
import { upkeep } from "../../src/cli/commands/doctor/upkeep.ts";
import type { Inspection, VacuumReport } from "../../src/store/maintenance.ts";

const now = Date.UTC(2026, 10, 16, 12);
const MINUTE = 60_000;
const ago = (minutes: number) => now - minutes * MINUTE;

type Vacuum = Omit<VacuumReport, "enabled"> & { enabled?: boolean };

function told(vacuum: Vacuum | null): string[] {
  const findings = upkeep({ now, vacuum: vacuum && { enabled: true, ...vacuum } } as Inspection);
  return findings.map(({ level, text, cure }) => `${level}: ${text} -> ${cure}`);
}

const table = (fields: Partial<VacuumReport["tables"][number]> = {}) => ({
  name: "punctual_runs",
  live: 20_000,
  dead: 56_000,
  vacuumedAt: ago(47),
  enabled: true,
  ...fields,
});

const transaction = (minutes: number) => ({ pid: 4711, program: "psql", since: ago(minutes) });

describe("the doctor on dead rows", () => {
  test.each<[string, Vacuum | null]>([
    ["a database without vacuum", null],
    ["few dead rows", { tables: [table({ dead: 9_999, live: 0 })], oldest: null }],
    ["fewer dead rows than live ones", { tables: [table({ live: 60_000 })], oldest: null }],
    ["a vacuum a moment ago", { tables: [table({ vacuumedAt: ago(5 - 0.01) })], oldest: transaction(4) }],
    ["a young transaction", { tables: [table({ dead: 0 })], oldest: transaction(30) }],
  ])("does not report %s", (_, vacuum) => {
    expect(told(vacuum)).toEqual([]);
  });

  test("warns about dead rows that autovacuum does not remove", () => {
    expect(told({ tables: [table()], oldest: null })).toEqual([
      "warning: punctual_runs has 56,000 dead rows beside 20,000 live ones, and the last vacuum was 47m ago -> vacuum punctual_runs, and give autovacuum more workers",
    ]);
    expect(told({ tables: [table({ vacuumedAt: null })], oldest: null })[0]).toContain(
      "it was never vacuumed",
    );
  });

  test("warns about dead rows that an old transaction keeps, even right after a vacuum", () => {
    expect(told({ tables: [table({ vacuumedAt: ago(1) })], oldest: transaction(6) })).toEqual([
      expect.stringContaining("-> end the old transaction (below)"),
      "warning: a transaction of psql (pid 4711) has been open for 6m, and no row that died since can be removed -> end it: select pg_terminate_backend(4711)",
    ]);
  });

  test("warns about a transaction that has been open for very long, with or without dead rows", () => {
    expect(told({ tables: [], oldest: transaction(31) })).toHaveLength(1);
  });

  test("reports autovacuum that is off on the whole server before the dead rows", () => {
    const cause =
      "warning: autovacuum is off on the whole server: dead rows stay in every table -> alter system set autovacuum = on; select pg_reload_conf()";
    expect(told({ enabled: false, tables: [table({ dead: 0 })], oldest: null })).toEqual([cause]);
    expect(told({ enabled: false, tables: [table({ vacuumedAt: ago(1) })], oldest: transaction(6) })).toEqual(
      [
        cause,
        expect.stringMatching(
          /^warning: punctual_runs has 56,000 dead rows .* -> end the old transaction \(below\)$/,
        ),
        expect.stringContaining("a transaction of psql"),
      ],
    );
    expect(told({ enabled: false, tables: [table({ vacuumedAt: ago(1) })], oldest: null })[1]).toMatch(
      /-> vacuum punctual_runs$/,
    );
  });

  test("warns about a table with autovacuum off", () => {
    expect(told({ tables: [table({ dead: 0, enabled: false })], oldest: null })[0]).toContain(
      "autovacuum is off for punctual_runs -> alter table punctual_runs reset (autovacuum_enabled)",
    );
    expect(told({ tables: [table({ vacuumedAt: ago(1), enabled: false })], oldest: null })[0]).toContain(
      "ago: autovacuum is off",
    );
  });
});
