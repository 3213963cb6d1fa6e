import { expect, test } from "vitest";
import {
  appendLines,
  attemptsOf,
  filterLines,
  type LogLine,
  linesText,
} from "../../../dashboard/src/logs/log-lines.ts";

const line = (position: number, attempt: number, message: string, data: string | null = null): LogLine => ({
  position,
  attempt,
  at: "2026-01-01T00:00:00.000Z",
  message,
  data,
});

const LINES = [
  line(1, 1, "connecting", '{"host":"SMTP.example"}'),
  line(2, 1, "refused"),
  line(5, 2, "sent"),
];

test("lines that were read twice appear once", () => {
  expect(
    appendLines(LINES, [line(5, 2, "sent"), line(6, 2, "done")]).map(({ position }) => position),
  ).toEqual([1, 2, 5, 6]);
});

test("a search looks at messages and data, in any case; an attempt limits it", () => {
  expect(filterLines(LINES, { text: "smtp", attempt: null })).toEqual([LINES[0]]);
  expect(filterLines(LINES, { text: "", attempt: 2 })).toEqual([LINES[2]]);
  expect(filterLines(LINES, { text: "refused", attempt: 2 })).toEqual([]);
  expect(attemptsOf(LINES)).toEqual([1, 2]);
});

test("copied lines have time, attempt, message and data", () => {
  expect(linesText(LINES.slice(0, 2))).toBe(
    '2026-01-01T00:00:00.000Z [1] connecting {"host":"SMTP.example"}\n2026-01-01T00:00:00.000Z [1] refused',
  );
});
