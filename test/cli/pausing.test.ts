import { describe, expect, test } from "vitest";
import { scene } from "./support/project-scene.ts";

async function withQueues() {
  const made = scene();
  made.jobs.schedule("mail", async () => {}).queue("emails");
  made.jobs.schedule("report", async () => {}).cron("0 3 * * *");
  made.jobs.recur("report", "0 4 * * *", { queue: "heavy" });
  await made.jobs.run();
  const queue = async (name: string) => (await made.jobs.status()).queues.find((one) => one.name === name);
  return { ...made, queue };
}

describe("pause and resume", () => {
  test("pause a queue, and print the effect", async () => {
    const { call, queue } = await withQueues();
    expect(await call("pause", "queue", "emails", "heavy")).toMatchObject({
      code: 0,
      stdout: "queue emails paused\nqueue heavy paused\n",
    });
    expect(await queue("emails")).toMatchObject({ paused: true, pausedUntil: null });
    const resumed = await call("resume", "queue", "emails", "--json");
    expect(JSON.parse(resumed.stdout)).toEqual({
      v: 1,
      resumed: [{ kind: "queue", name: "emails", until: null }],
    });
    expect(await queue("emails")).toMatchObject({ paused: false });
    expect(await queue("heavy")).toMatchObject({ paused: true });
  });

  test("record who did what", async () => {
    const { call, jobs } = await withQueues();
    await call("pause", "queue", "emails", "--reason", "the mail server is down");
    const { id } = await jobs.dispatch("mail", {});
    await call("cancel", String(id), "--yes");
    const { entries } = await jobs.audit();
    expect(entries).toMatchObject([
      { action: "run.cancel", target: String(id), details: { cancelled: 1, skipped: {} }, source: "cli" },
      {
        action: "queue.pause",
        target: "emails",
        details: { reason: "the mail server is down" },
        source: "cli",
      },
    ]);
    expect(entries[0]!.user).toMatch(/@/);
  });

  test.each(["2h", "7200"])("pause a queue for a while: %s", async (span) => {
    const { call, queue } = await withQueues();
    const { stdout } = await call("pause", "queue", "emails", "--for", span, "--utc");
    expect(stdout).toMatch(/^queue emails paused until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\n$/);
    expect((await queue("emails"))!.pausedUntil).toBeInstanceOf(Date);
  });

  test("store a reason and the user", async () => {
    const { call, queue } = await withQueues();
    await call("pause", "queue", "emails", "--reason", "the mail server is down");
    expect(await queue("emails")).toMatchObject({
      paused: true,
      pause: { reason: "the mail server is down", by: expect.stringContaining("@") },
    });
  });

  test("pause a job, and its schedules", async () => {
    const { call, jobs } = await withQueues();
    await call("pause", "job", "mail");
    expect((await jobs.status()).jobs.find(({ name }) => name === "mail")).toMatchObject({ paused: true });
    await call("resume", "job", "mail");
    expect((await jobs.status()).jobs.find(({ name }) => name === "mail")).toMatchObject({ paused: false });
    const { stdout } = await call("pause", "schedule", "report");
    expect(stdout.trim().split("\n")).toHaveLength(2);
    const [first, second] = await jobs.schedules();
    expect([first!.paused, second!.paused]).toEqual([true, true]);
    await call("resume", "schedule", String(second!.id));
    expect((await jobs.schedules()).map(({ paused }) => paused)).toEqual([true, false]);
  });

  test("pause every queue", async () => {
    const { call, queue } = await withQueues();
    expect((await call("pause", "--all")).code).toBe(0);
    for (const name of ["default", "emails", "heavy"])
      expect(await queue(name)).toMatchObject({ paused: true });
    await call("resume", "--all");
    for (const name of ["default", "emails", "heavy"])
      expect(await queue(name)).toMatchObject({ paused: false });
  });

  test("ask before pausing an unknown queue", async () => {
    const { call, queue } = await withQueues();
    const { code, stderr } = await call("pause", "queue", "emals");
    expect(code).toBe(3);
    expect(stderr).toContain('Did you mean "emails"? To pause it before its first run: --yes');
    expect(await queue("emals")).toBeUndefined();
    expect((await call("pause", "queue", "emals", "--yes")).code).toBe(0);
    expect(await queue("emals")).toMatchObject({ paused: true });
  });

  test.each([
    [["pause"], 2, "pause expected a kind and a name. For example: punctual pause queue emails"],
    [["pause", "queue"], 2, "pause expected a kind and a name"],
    [
      ["pause", "queues", "emails"],
      2,
      'Invalid value "queues" of <what>. Expected queue, job, schedule, worker. Did you mean "queue"?',
    ],
    [["pause", "queue", "emails", "--all"], 2, "--all means every queue"],
    [["pause", "queue", "emails", "--for", "ever"], 2, "Expected a duration as seconds or text"],
    [["pause", "queue", "", "--yes"], 2, "Expected the name of a queue of at least one character"],
    [["pause", "job", "mail", "--for", "2h"], 2, "--for is for queues"],
    [["pause", "job", "mall"], 3, 'Did you mean "mail"?'],
    [["pause", "schedule", "77"], 3, "There is no schedule 77"],
    [["pause", "schedule", "mail"], 3, 'Job "mail" has no schedule'],
    [["resume", "queue", "nowhere", "--yes"], 3, 'There is no queue "nowhere"'],
    [["resume", "queue", "emails", "--for", "2h"], 2, "Unknown option --for."],
  ])("%j exits with %d", async (args, expected, message) => {
    const { call } = await withQueues();
    const { code, stdout, stderr } = await call(...args);
    expect(stderr).toContain(message);
    expect([code, stdout]).toEqual([expected, ""]);
  });
});
