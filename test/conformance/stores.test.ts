import { readdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { databases } from "./support/stores.ts";

test("every database has a file of its own, so that they are tested side by side", async () => {
  const files = await readdir(new URL(".", import.meta.url));
  expect(files).toEqual(expect.arrayContaining(databases.map(({ name }) => `${name}.test.ts`)));
});
