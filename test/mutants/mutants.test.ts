import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { mutants as campaignMutants } from "../campaign/mutants.ts";
import { allMutants, plant } from "./list.ts";

const root = resolve(import.meta.dirname, "../..");
const mutants = await allMutants();

describe("the list of mutants", () => {
  test.each(mutants)("$file: $rule", (mutant) => {
    const source = readFileSync(join(root, mutant.file), "utf8");
    expect(plant(source, mutant)).not.toBe(source);
    expect(mutant.tests.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });

  test.each(campaignMutants)("$file, found by a campaign: $rule", (mutant) => {
    const source = readFileSync(join(root, mutant.file), "utf8");
    expect(plant(source, { ...mutant, tests: [] })).not.toBe(source);
  });

  test("has no two mutants of one rule", () => {
    const rules = mutants.map(({ rule }) => rule);
    expect(rules.filter((rule, index) => rules.indexOf(rule) !== index)).toEqual([]);
  });
});
