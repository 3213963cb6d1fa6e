import { readdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { databases } from "./support/stores.ts";

test("every database has its own test file, so that they are tested in parallel", async () => {
  const files = await readdir(new URL(".", import.meta.url));
  expect(files).toEqual(expect.arrayContaining(databases.map(({ name }) => `${name}.test.ts`)));
});
