import { describe, expect, test } from "vitest";
import type { Punctual } from "../../src/index.ts";
import { open } from "./support/instance.ts";

/** Runs a job that fails with this error, and returns the fingerprint of its group. */
async function fail(jobs: Punctual, name: string, error: Error): Promise<string> {
  jobs.define(name, () => {
    throw error;
  });
  await jobs.dispatch(name);
  await jobs.run();
  return (await jobs.failures({ job: name })).groups[0]!.fingerprint!;
}

describe("a muted group of failures", () => {
  test("does not degrade the health, and stays in the list with who muted it", async () => {
    const { jobs, clock } = open();
    const fingerprint = await fail(jobs, "mail", new Error("connect ETIMEDOUT 10.0.0.1"));
    expect((await jobs.health()).level).toBe("degraded");
    await expect(jobs.mute(fingerprint, { for: 0 })).rejects.toMatchObject({ code: "INVALID_DURATION" });
    await jobs.mute(fingerprint, { by: "ana", reason: "the provider works on it", for: "1h" });
    expect((await jobs.health()).level).toBe("healthy");
    const until = new Date(clock.now() + 3600_000);
    const mute = { fingerprint, by: "ana", reason: "the provider works on it", until };
    expect((await jobs.failures()).groups).toMatchObject([{ fingerprint, count: 1, mute }]);
    expect((await jobs.status()).jobs[0]).toMatchObject({ fails: 1, lastOutcome: "failed", mute });
    await clock.advance("1h");
    expect((await jobs.health()).level).toBe("degraded");
    expect((await jobs.failures()).groups[0]!.mute).toBeNull();
  });

  test("covers the same error with other numbers, in every job, and no other error", async () => {
    const { jobs } = open();
    const thrown = (message: string) => new Error(message);
    const fingerprint = await fail(jobs, "first", thrown("row 17 is missing"));
    await jobs.mute(fingerprint);
    await fail(jobs, "second", thrown("row 18 is missing"));
    expect((await jobs.health()).level).toBe("healthy");
    await fail(jobs, "third", thrown("the disk is full"));
    const { level, sentences } = await jobs.health();
    expect(level).toBe("degraded");
    expect(sentences).toEqual([expect.stringMatching(/^third: /)]);
  });

  test("does not hide another error of the same job, whichever comes last", async () => {
    const { jobs, clock } = open();
    let message = "connect ETIMEDOUT";
    jobs.define("mail", () => {
      if (message !== "") throw new Error(message);
    });
    const attempt = async (next: string) => {
      message = next;
      await clock.advance(1);
      await jobs.dispatch("mail");
      await jobs.run();
    };
    await attempt("connect ETIMEDOUT");
    const [group] = (await jobs.failures()).groups;
    await jobs.mute(group!.fingerprint!);
    expect((await jobs.health()).level).toBe("healthy");
    await attempt("the disk is full");
    await attempt("connect ETIMEDOUT");
    expect((await jobs.health()).sentences).toEqual(["mail: 3 attempts in a row failed: the disk is full"]);
    expect((await jobs.status()).jobs[0]).toMatchObject({
      mute: null,
      lastError: "the disk is full",
      errors: [
        { message: "connect ETIMEDOUT", mute: { fingerprint: group!.fingerprint } },
        { message: "the disk is full", mute: null },
      ],
    });
    await attempt("");
    expect((await jobs.status()).jobs[0]).toMatchObject({ errors: [], mute: null, fails: 0 });
    await attempt("connect ETIMEDOUT");
    expect((await jobs.health()).level).toBe("healthy");
  });

  test("of a failure that no run has is refused", async () => {
    const { jobs } = open();
    await expect(jobs.mute("1f0c5a7e9b3d2c48")).rejects.toMatchObject({
      code: "UNKNOWN_FAILURE",
      message: expect.stringContaining("no failed run has this fingerprint"),
    });
    expect(await jobs.mutes()).toEqual([]);
  });

  test("may be muted while its runs are still retried", async () => {
    const { jobs } = open();
    jobs
      .define("mail", () => {
        throw new Error("no");
      })
      .retries(3);
    await jobs.dispatch("mail");
    await jobs.run();
    const [error] = (await jobs.status()).jobs[0]!.errors;
    await jobs.mute(error!.fingerprint);
    expect((await jobs.health()).level).toBe("healthy");
    await jobs.mute(error!.fingerprint, { reason: "again" });
    expect(await jobs.mutes()).toMatchObject([{ reason: "again" }]);
  });

  test("counts again when it is unmuted", async () => {
    const { jobs } = open();
    const fingerprint = await fail(jobs, "mail", new Error("no"));
    await jobs.mute(fingerprint);
    expect(await jobs.mutes()).toMatchObject([{ fingerprint, by: null, reason: null, until: null }]);
    expect(await jobs.unmute(fingerprint)).toBe(true);
    expect(await jobs.unmute(fingerprint)).toBe(false);
    expect((await jobs.health()).level).toBe("degraded");
  });

  test.each(["", "a b", "x".repeat(65), 7 as never])("a fingerprint like %j is refused", async (wrong) => {
    const { jobs } = open();
    await expect(jobs.mute(wrong)).rejects.toMatchObject({ code: "INVALID_OPTION" });
    await expect(jobs.unmute(wrong)).rejects.toMatchObject({ code: "INVALID_OPTION" });
  });
});
