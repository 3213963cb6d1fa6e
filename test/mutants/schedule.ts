import type { Mutant } from "./mutant.ts";

const cron = ["test/unit/cron.test.ts", "test/unit/cron-property.test.ts"];
const misfire = ["test/unit/misfire.test.ts"];

export const mutants: Mutant[] = [
  {
    rule: "The next tick lies strictly after the instant that is asked about.",
    file: "src/schedule/next.ts",
    find: "Math.max(Math.floor(after / 1000) + 1, -LAST_SECOND)",
    replace: "Math.max(Math.ceil(after / 1000), -LAST_SECOND)",
    tests: cron,
  },
  {
    rule: "The previous tick lies strictly before the instant that is asked about.",
    file: "src/schedule/next.ts",
    find: "Math.min(Math.ceil(before / 1000) - 1, LAST_SECOND)",
    replace: "Math.min(Math.floor(before / 1000), LAST_SECOND)",
    tests: cron,
  },
  {
    rule: "A fixed time that a fold repeats ticks once.",
    file: "src/schedule/next.ts",
    find: "if (second === segment.start || civil < open) civil = open;",
    replace: "if (second === segment.start) civil = open;",
    tests: cron,
  },
  {
    rule: "Interval schedules follow the wall clock across a change of clocks.",
    file: "src/schedule/next.ts",
    find: "const changed = !fields.interval && jump",
    replace: "const changed = jump",
    tests: cron,
  },
  {
    rule: "A jump of three hours is a new clock, not daylight saving.",
    file: "src/schedule/next.ts",
    find: "jump >= -LARGEST_CHANGE",
    replace: "jump > -LARGEST_CHANGE",
    tests: [...cron, "test/unit/cron-corpus.test.ts"],
  },
  {
    rule: "A day of the month or a day of the week is enough when both are given.",
    file: "src/schedule/civil.ts",
    find: "days |= week | (week << 7)",
    replace: "days &= week | (week << 7)",
    tests: cron,
  },
  {
    rule: "The nearest workday never leaves its month.",
    file: "src/schedule/civil.ts",
    find: "return day > 0 ? day - 1 : day + 2;",
    replace: "return day - 1;",
    tests: cron,
  },
  {
    rule: "A century that is no multiple of 400 has no leap day.",
    file: "src/schedule/civil.ts",
    find: "(year % 100 !== 0 || year % 400 === 0)",
    replace: "(year % 100 !== 0 || year % 200 === 0)",
    tests: cron,
  },
  {
    rule: "An instant in a gap of the wall clock becomes the end of the gap.",
    file: "src/schedule/zones.ts",
    find: "return zone.at(wall - before).start * 1000;",
    replace: "return wallMs - before * 1000;",
    tests: ["test/unit/zones.test.ts"],
  },
  {
    rule: "A wall time that occurs twice means its first occurrence.",
    file: "src/schedule/zones.ts",
    find: "for (const offset of [before, after]) {",
    replace: "for (const offset of [after, before]) {",
    tests: ["test/unit/zones.test.ts"],
  },
  {
    rule: "A range of weekdays that ends in SUN ends the week.",
    file: "src/schedule/fields.ts",
    find: 'if (second === "SUN" && dash >= 0) to = 7;',
    replace: 'if (first === "SAT" && second === "SUN") to = 7;',
    tests: cron,
  },
  {
    rule: "A tick that is late by exactly the grace was not missed.",
    file: "src/schedule/misfire.ts",
    find: "const runs = !waiting && last >= late;",
    replace: "const runs = !waiting && last > late;",
    tests: misfire,
  },
  {
    rule: "No second run is made while the run of an earlier tick waits.",
    file: "src/schedule/misfire.ts",
    find: "const runs = !waiting && last >= late;",
    replace: "const runs = last >= late;",
    tests: misfire,
  },
  {
    rule: "Of missed ticks the latest ones are made up, oldest first.",
    file: "src/schedule/misfire.ts",
    find: "return ticks.reverse();",
    replace: "return ticks;",
    tests: misfire,
  },
];
