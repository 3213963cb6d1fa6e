import { describe, expect, test } from "vitest";
import { fakeRun } from "../../src/testing/index.ts";
import { expectRefusal } from "./support/refusal.ts";

describe("fakeRun()", () => {
  test("accepts any member of a run", () => {
    const own = fakeRun();
    const { logged, progressed, ending, ...members } = own;
    for (const [key, value] of Object.entries(members))
      expect(fakeRun({ [key]: value })).toMatchObject({ [key]: value });
    expect([logged, progressed, ending]).toEqual([[], [], null]);
  });

  test("refuses a misspelt member", async () => {
    await expectRefusal(() => fakeRun({ attemp: 1 } as never), "INVALID_OPTION", 'Did you mean "attempt"?');
  });

  test("rejects transaction(): it has no database", async () => {
    await expectRefusal(
      () => fakeRun().transaction(() => {}),
      "INVALID_OPTION",
      "fakeRun() has no database for run.transaction()",
    );
    let worked = false;
    const run = fakeRun({ transaction: async (work) => void (await work(null as never)) });
    await run.transaction(() => {
      worked = true;
    });
    expect(worked).toBe(true);
  });
});
