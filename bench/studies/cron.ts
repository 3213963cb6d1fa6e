import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Cron as Croner } from "croner";
import { Cron } from "../../src/schedule/cron.ts";

/*
 * Cost of a schedule, beside croner: time of one next() from random instants of a year, and heap per
 * schedule. The two take turns within one run, so that both see the same machine; figures are medians.
 * With --quick one short round only.
 */

const quick = process.argv.includes("--quick");
const ROUNDS = quick ? 1 : 15;
const CASES: readonly (readonly [cron: string, timezone: string])[] = [
  ["* * * * * *", "UTC"],
  ["*/5 * * * *", "UTC"],
  ["* * * * * *", "America/New_York"],
  ["*/5 * * * *", "America/New_York"],
  ["30 9 * * 1-5", "America/New_York"],
  ["0 0 1,15 * *", "Europe/Berlin"],
  ["0 0 L * *", "Europe/Berlin"],
  ["0 0 29 2 *", "America/New_York"],
];

const year = Date.UTC(2026, 0);
const starts = Array.from({ length: 256 }, (_, i) => year + ((i * 0.618_033_988_75) % 1) * 31_536_000_000);
let sink = 0;

function nanoseconds(repeat: number, call: (at: number) => number): number {
  const begin = process.hrtime.bigint();
  for (let i = 0; i < repeat; i++) sink += call(starts[i & 255]!);
  return Number(process.hrtime.bigint() - begin) / repeat;
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1]!;
}

function row(...cells: string[]): void {
  console.log(cells.map((cell, i) => (i === 0 ? cell.padEnd(34) : cell.padStart(14))).join(""));
}

function compareNext(): void {
  row("next()", "punctual ns", "croner ns", "ratio");
  for (const [text, timezone] of CASES) {
    const cron = new Cron(text, { timezone });
    const croner = new Croner(text, { timezone });
    const dates = new Map(starts.map((at) => [at, new Date(at)]));
    const ours: number[] = [];
    const theirs: number[] = [];
    // The first round warms both up and is not counted.
    for (let round = 0; round <= ROUNDS; round++) {
      const mine = nanoseconds(quick ? 2_000 : 50_000, (at) => cron.nextMs(at) ?? 0);
      const other = nanoseconds(quick ? 50 : 500, (at) => croner.nextRun(dates.get(at)!)?.getTime() ?? 0);
      if (round === 0) continue;
      ours.push(mine);
      theirs.push(other);
    }
    const [mine, other] = [median(ours), median(theirs)];
    row(`${text}  ${timezone}`, mine.toFixed(0), other.toFixed(0), `${(other / mine).toFixed(0)}×`);
  }
}

function compareParsing(): void {
  const text = "*/5 9-17 1,15 * 1-5";
  const options = { timezone: "America/New_York" };
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const mine = nanoseconds(quick ? 500 : 5_000, () => new Cron(text, options).timezone.length);
    const other = nanoseconds(quick ? 50 : 300, () => new Croner(text, options).getPattern()!.length);
    if (round === 0) continue;
    ours.push(mine);
    theirs.push(other);
  }
  const [mine, other] = [median(ours), median(theirs)];
  row(`new Cron("${text}")`, mine.toFixed(0), other.toFixed(0), `${(other / mine).toFixed(0)}×`);
}

function bytesEach(count: number, make: (text: string, timezone: string) => unknown): number {
  const zones = ["UTC", "America/New_York", "Europe/Berlin", "Asia/Tokyo"];
  const text = (i: number) => `${i % 60} ${(i * 7) % 24} ${1 + (i % 28)} * *`;
  for (const zone of zones) make(text(0), zone);
  const kept: unknown[] = new Array(count);
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < count; i++) kept[i] = make(text(i), zones[i % zones.length]!);
  collect();
  const bytes = (process.memoryUsage().heapUsed - before) / count;
  return kept.length === count ? bytes : 0;
}

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

compareNext();
compareParsing();
const mine = bytesEach(quick ? 500 : 5_000, (text, timezone) => new Cron(text, { timezone }));
// A tenth of them: 5,000 would take 400 MB.
const other = bytesEach(quick ? 50 : 500, (text, timezone) => new Croner(text, { timezone }));
row("heap bytes per schedule", mine.toFixed(0), other.toFixed(0), `${(other / mine).toFixed(0)}×`);
if (sink === 0) console.log("nothing was computed");
