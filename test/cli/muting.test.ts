import { expect, test } from "vitest";
import { scene } from "./support/project-scene.ts";

test("mute and unmute a group of failures, and record who did it", async () => {
  const { call, jobs } = scene();
  jobs.schedule("mail", () => {
    throw new Error("connect ETIMEDOUT");
  });
  await jobs.dispatch("mail");
  await jobs.run();
  const fingerprint = (await jobs.failures()).groups[0]!.fingerprint!;
  const muted = await call("mute", fingerprint, "--for", "2h", "--reason", "known", "--utc");
  expect(muted.stdout).toMatch(
    new RegExp(`^failures ${fingerprint} muted until \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d UTC\\n$`),
  );
  expect(await jobs.mutes()).toMatchObject([
    { fingerprint, reason: "known", by: expect.stringMatching(/@/) },
  ]);
  const listed = JSON.parse((await call("list", "mutes", "--json")).stdout);
  expect(listed.mutes).toMatchObject([
    { fingerprint, reason: "known", count: 1, jobs: ["mail"], error: "Error: connect ETIMEDOUT" },
  ]);
  expect((await call("list", "mutes")).stdout).toMatch(
    new RegExp(`^Fingerprint .*\\n${fingerprint} .*known`),
  );
  expect((await call("unmute", fingerprint)).stdout).toBe(`failures ${fingerprint} unmuted\n`);
  expect((await call("unmute", fingerprint)).stdout).toBe(`failures ${fingerprint} were not muted\n`);
  expect((await jobs.audit()).entries).toMatchObject([
    { action: "failure.unmute", target: fingerprint, source: "cli" },
    { action: "failure.mute", target: fingerprint, details: { for: "2h", reason: "known" }, source: "cli" },
  ]);
});

test("a text that is no fingerprint is refused", async () => {
  const { call, jobs } = scene();
  await jobs.install();
  const { code, stderr } = await call("mute", "not a fingerprint");
  expect(code).not.toBe(0);
  expect(stderr).toContain("expected the fingerprint of a group of failures");
});

test("a fingerprint that no failed run has is refused", async () => {
  const { call, jobs } = scene();
  await jobs.install();
  expect(await call("mute", "1f0c5a7e9b3d2c48")).toMatchObject({
    code: 3,
    stderr: expect.stringContaining("no failed run has this fingerprint"),
  });
  expect(await jobs.mutes()).toEqual([]);
});
