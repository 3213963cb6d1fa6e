import { expect, test } from "vitest";
import { Bar, barLine, progressBar } from "../../src/cli/render/bar.ts";
import { iconsFor } from "../../src/cli/render/icons.ts";
import { selectColumns, table } from "../../src/cli/render/table.ts";
import { widthOf } from "../../src/cli/render/width.ts";
import { runColumns } from "../../src/cli/views/run-columns.ts";
import { runPage } from "../../src/cli/views/run-page.ts";
import type { RunInfo } from "../../src/run/info.ts";
import { TestClock } from "../../src/testing/clock.ts";
import { at, now, report, run } from "./support/fixed-data.ts";
import { pageOf } from "./support/page.ts";

const icons = iconsFor({ LANG: "C.UTF-8" }, "linux");
const title = "Deleting completed";

test("a line shows share, count, rate and remaining time", () => {
  const progress = { title, done: 1_204_000, total: 1_540_000, elapsed: 54_000 };
  expect(barLine(progress, icons, 100)).toBe(
    "Deleting completed  ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇░░░░░   78 %  1,204,000/1,540,000  22k/s  eta 0:16",
  );
  expect(barLine(progress, icons, null)).toBe(
    "Deleting completed   78 %  1,204,000/1,540,000  22k/s  eta 0:16",
  );
  expect(barLine({ ...progress, total: null }, icons, 100)).toBe("Deleting completed  1,204,000  22k/s");
  expect(barLine({ title, done: 0, total: 0, elapsed: 0 }, icons, null)).toBe(
    "Deleting completed  100 %  0/0",
  );
  for (const width of [10, 40, 66, 67, 80])
    expect(widthOf(barLine(progress, icons, width))).toBeLessThanOrEqual(width);
});

test("the progress of a run is a bar within its length, also beyond its ends", () => {
  expect(progressBar({ done: 2, of: 5 }, icons, 10)).toBe("▇▇▇▇░░░░░░  40 %");
  expect(progressBar({ done: 7, of: 5 }, icons, 4)).toBe("▇▇▇▇  100 %");
  expect(progressBar({ done: -1, of: 5 }, icons, 4)).toBe("░░░░  0 %");
  expect(progressBar({ done: 0, of: 0 }, icons, 4)).toBe("▇▇▇▇  100 %");
});

test("list shows the bar while a run with progress is running, show always", () => {
  const page = pageOf(100);
  const busy = run({ id: 7, state: "running", startedAt: at(-5), progress: { done: 1, of: 4 } });
  const lines = (rows: RunInfo[]) =>
    table(selectColumns(runColumns(now, page, rows), undefined), rows, page).join("\n");
  expect(lines([busy])).toContain("▇▇░░░░░░  25 %");
  expect(lines([{ ...busy, state: "completed", finishedAt: now }])).not.toContain("25 %");
  const shown = { run: busy, attempts: [], why: "", report, now, logLines: 0, lostResult: null };
  expect(runPage(shown, { raw: false, cwd: "/" }, page).join("\n")).toContain("25 %  1/4");
});

function paper(isTTY: boolean) {
  const written: string[] = [];
  return { written, stream: { isTTY, columns: 80, write: (text: string) => written.push(text) } };
}

test("on a terminal one line is redrawn, at most ten times a second", async () => {
  const clock = new TestClock();
  const { written, stream } = paper(true);
  const bar = new Bar(stream, title, { total: 100, clock, icons });
  bar.update(1);
  bar.update(2);
  await clock.advance(0.1);
  bar.update(50);
  bar.update(100);
  bar.end();
  bar.end();
  expect(written).toHaveLength(4);
  expect(written[0]).toMatch(/^\rDeleting .* 1\/100/);
  expect(written[0]!.endsWith("\x1b[K")).toBe(true);
  expect(written[1]).toContain("50/100");
  expect(written[2]).toContain("100/100");
  expect(written[3]).toBe("\n");
});

test("without a terminal a line is printed every ten seconds, without control characters", async () => {
  const clock = new TestClock();
  const { written, stream } = paper(false);
  const bar = new Bar(stream, title, { total: 100, clock, icons });
  bar.update(1);
  expect(written).toEqual([]);
  await clock.advance(10);
  bar.update(50);
  bar.update(60);
  bar.end();
  expect(written).toEqual(["Deleting completed   50 %  50/100  5/s  eta 0:10\n"]);
});
