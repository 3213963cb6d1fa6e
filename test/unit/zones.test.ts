import { expect, test } from "vitest";
import { instantOf, zoneOf } from "../../src/schedule/zones.ts";

function instant(zone: string, wall: string): string {
  return new Date(instantOf(zoneOf(zone), Date.parse(`${wall}Z`))).toISOString();
}

test.each([
  ["an ordinary time in winter", "2026-01-15T12:00:00", "2026-01-15T11:00:00.000Z"],
  ["an ordinary time in summer", "2026-07-15T12:00:00", "2026-07-15T10:00:00.000Z"],
  ["the last second before a gap", "2026-03-29T01:59:59", "2026-03-29T00:59:59.000Z"],
  ["a time in a gap: the end of the gap", "2026-03-29T02:30:00", "2026-03-29T01:00:00.000Z"],
  ["the first second after a gap", "2026-03-29T03:00:00", "2026-03-29T01:00:00.000Z"],
  ["a time that occurs twice: the first one", "2026-10-25T02:30:00", "2026-10-25T00:30:00.000Z"],
  ["the first second after a fold", "2026-10-25T03:00:00", "2026-10-25T02:00:00.000Z"],
])("a wall clock in Berlin: %s", (_, wall, expected) => {
  expect(instant("Europe/Berlin", wall)).toBe(expected);
});

test("a clock change of half an hour", () => {
  expect(instant("Australia/Lord_Howe", "2026-04-05T01:45:00")).toBe("2026-04-04T14:45:00.000Z");
});
