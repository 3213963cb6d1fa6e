import { expect, test } from "vitest";
import { databaseLabel, isSameDatabase } from "../../src/cli/load/database.ts";

test.each([
  ["postgres://me:secret@host:5433/app?schema=jobs", "postgres://me@host:5433/app"],
  ["postgres://me:secret@a,b:5433,c/app?schema=jobs", "postgres://me@a,b:5433,c/app"],
  ["mysql://a,b/jobs", "mysql://a,b/jobs"],
])("%s is shown without password and parameters", (url, label) => {
  expect(databaseLabel(url)).toBe(label);
});

test("lists of the same hosts name the same database", () => {
  expect(isSameDatabase("postgres://me@a,b:5433/app", "postgres://other:x@b:5433,a:5432/app")).toBe(true);
  expect(isSameDatabase("postgres://me@a,b/app", "postgres://me@a/app")).toBe(false);
  expect(isSameDatabase("mysql://me@a/app", "mariadb://me@a:3306/app")).toBe(true);
});
