import { expect, test } from "vitest";
import { literal, numbered } from "../../src/store/postgres/query.ts";

test.each([
  ["select 1", "select 1"],
  ["select ?", "select $1"],
  ["a = ? and b in (?, ?) or c = ?", "a = $1 and b in ($2, $3) or c = $4"],
  ["'?' || ?", "'?' || $1"],
  ["'it''s ?' || ?", "'it''s ?' || $1"],
  ['select "what?", ?', 'select "what?", $1'],
  ['select "a""?" , ?', 'select "a""?" , $1'],
  ["? -- why?\n, ?", "$1 -- why?\n, $2"],
  ["? /* why?\n? */, ?", "$1 /* why?\n? */, $2"],
  ["do $$ begin ? end $$; ?", "do $$ begin ? end $$; $1"],
  ["do $a_b$ $$ ? $a_b$; ?", "do $a_b$ $$ ? $a_b$; $1"],
  ["?::text::jsonb", "$1::text::jsonb"],
])("%s", (text, expected) => {
  expect(numbered(text)).toBe(expected);
  expect(numbered(text)).toBe(expected);
});

test("more texts than the cache holds are converted", () => {
  for (let count = 1; count <= 1500; count++) expect(numbered(`${count} = ?`)).toBe(`${count} = $1`);
  expect(numbered("1 = ?")).toBe("1 = $1");
});

test.each([
  [null, "null"],
  [7, "7"],
  [-7, "-7"],
  [2n ** 60n, "1152921504606846976"],
  ["", "''"],
  ["it's", "'it''s'"],
  ["\\", "E'\\\\'"],
  ["\\'; select 1", "E'\\\\''; select 1'"],
])("%s as a literal", (value, expected) => {
  expect(literal(value)).toBe(expected);
});
