// The table of helpers in the guide, made from the code.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { frequencies } from "../../src/job/frequencies.ts";
import { Cron } from "../../src/schedule/cron.ts";
import { type FieldTexts, Plan } from "../../src/schedule/plan.ts";
import { codeIn, read, root, tables } from "./support/markdown.ts";

const PAGE = "docs/guide/schedules.md";
const BLOCK = /(?<=<!-- helpers -->\n)[\s\S]*?(?=<!-- \/helpers -->)/;

type Name = keyof typeof frequencies;

/** The calls to show; a helper that is not here is shown without arguments. */
const shown: { [Name in keyof typeof frequencies]?: Parameters<(typeof frequencies)[Name]>[] } = {
  hourlyAt: [[15], [[0, 30]]],
  everyTwoHours: [[], [15]],
  dailyAt: [["13:00"]],
  twiceDaily: [[], [6, 18]],
  twiceDailyAt: [[1, 13, 15]],
  weeklyOn: [[1], [[1, 4], "8:00"]],
  monthlyOn: [[4, "15:00"]],
  twiceMonthly: [[], [1, 16, "13:00"]],
  lastDayOfMonth: [[], ["15:00"]],
  daysOfMonth: [[1, 10, 20]],
  quarterlyOn: [[4, "14:00"]],
  yearlyOn: [[6, 1, "17:00"]],
  weekdays: [[], [[1, 3]]],
  seconds: [[[0, 30]]],
  minutes: [[[0, 30]]],
  hours: [[[9, 17]]],
  days: [[[1, 15]]],
  months: [[[1, 7]]],
};

function rowsOf(name: Name): string[] {
  return (shown[name] ?? [[]]).map((args) => {
    const plan = new Plan();
    plan.edit((frequencies[name] as (...args: unknown[]) => FieldTexts)(...args));
    const cron = plan.toCron()!;
    const call = `${name}(${args.map((arg) => JSON.stringify(arg).replaceAll(",", ", ")).join(", ")})`;
    const words = new Cron(cron).describe().replace(/( \(UTC\))?\.$/, "");
    return `| \`${call}\` | \`${cron}\` | ${words[0]!.toLowerCase()}${words.slice(1)} |\n`;
  });
}

test("the table of helpers matches the code", () => {
  const names = Object.keys(frequencies) as Name[];
  const made = `| call | cron | |\n|---|---|---|\n${names.flatMap(rowsOf).join("")}`;
  const page = read(PAGE);
  expect(page).toMatch(BLOCK);
  if (process.env.UPDATE_DOCS)
    writeFileSync(
      join(root, PAGE),
      page.replace(BLOCK, () => made),
    );
  expect(
    BLOCK.exec(read(PAGE))?.[0],
    `The table in ${PAGE} is out of date. Run this test once with UPDATE_DOCS=1 to write it.`,
  ).toBe(made);
});

describe("ticks around clock changes", () => {
  const table = tables(PAGE).find(({ header }) => header[3] === "ticks (UTC)")!;

  test.each(table.rows)("%s in %s after %s", (calls, zone, after, ticks) => {
    const [, name, args] = /^\.(\w+)\((.*)\)$/.exec(codeIn(calls)[0]!)!;
    const plan = new Plan();
    plan.edit((frequencies[name as Name] as (...args: unknown[]) => FieldTexts)(...JSON.parse(`[${args}]`)));
    const cron = new Cron(plan.toCron()!, { timezone: codeIn(zone!)[0]! });
    const expected = codeIn(ticks!);
    const found = cron.upcoming(expected.length, new Date(codeIn(after!)[0]!));
    expect(found.map((date) => date.toISOString().slice(5, 16).replace("T", " "))).toEqual(expected);
  });
});
