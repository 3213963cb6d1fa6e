import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { open, stopped } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

test("formerly() takes over runs, history and state", async () => {
  const db = new DatabaseSync(":memory:");
  const before = open({}, db);
  before.jobs.schedule("mail", () => {}).concurrency(0);
  const done = await before.jobs.dispatch("mail", { n: 1 });
  await before.jobs.run();
  const waiting = await before.jobs.dispatch("mail", { n: 2 }).key("ada").delay(60);
  await before.jobs.pauseJob("mail");
  await stopped(before);

  const { jobs, clock } = open({}, db);
  const seen: unknown[] = [];
  jobs
    .schedule("emails.send", (args, run) => {
      seen.push([args, run.name, run.key]);
    })
    .formerly("post", "mail");
  await jobs.run();
  expect((await jobs.status()).jobs).toMatchObject([{ name: "emails.send", paused: true }]);
  expect(await jobs.find(done.id)).toMatchObject({ name: "emails.send", state: "completed", key: null });
  expect(await jobs.find(waiting.id)).toMatchObject({ name: "emails.send", state: "scheduled", key: "ada" });
  await jobs.resumeJob("emails.send");
  await clock.advance(60);
  expect(await jobs.run()).toBe(1);
  expect(seen).toEqual([[{ n: 2 }, "emails.send", "ada"]]);
});

test("a key that looks like the old name is not changed", async () => {
  const db = new DatabaseSync(":memory:");
  const before = open({}, db);
  before.jobs.schedule("mail", () => {});
  await before.jobs.run();
  const run = await before.jobs.dispatch("mail").key("e-mail|mail|x");
  await stopped(before);
  const { jobs } = open({}, db);
  jobs.schedule("post", () => {}).formerly("mail");
  await jobs.run({ queues: ["none"] });
  expect(await jobs.find(run.id)).toMatchObject({ name: "post", key: "e-mail|mail|x" });
});

test("an unknown former name changes nothing", async () => {
  const { jobs } = open();
  jobs.schedule("emails.send", () => {}).formerly("never");
  await jobs.dispatch("emails.send");
  expect(await jobs.run()).toBe(1);
});

test("a run that was committed under the old name after the rename runs under the new one", async () => {
  const db = new DatabaseSync(":memory:");
  const { jobs } = open({}, db);
  const seen: unknown[] = [];
  jobs
    .schedule("post", (_, run) => {
      seen.push([run.name, run.key, run.attempt]);
    })
    .formerly("mail");
  await jobs.run();
  await jobs.dispatch("post").key("ada");
  db.exec("update punctual_runs set name = 'mail', lane = 'mail|ada'");
  await jobs.run();
  expect(seen).toEqual([["post", "ada", 1]]);
});

test("a program with the old code dispatches to the renamed job", async () => {
  const db = new DatabaseSync(":memory:");
  const old = open({}, db);
  const mail = old.jobs.schedule("mail", () => {});
  const { jobs } = open({}, db);
  const seen: string[] = [];
  jobs.schedule("post", (_, run) => void seen.push(run.name)).formerly("mail");
  await jobs.run();
  await mail.dispatch();
  expect(await jobs.run()).toBe(1);
  expect(seen).toEqual(["post"]);
  expect((await jobs.status()).jobs).toMatchObject([{ name: "post" }]);
});

test("formerly() refuses the current name of the job", async () => {
  const { jobs } = open();
  const job = jobs.schedule("mail", () => {});
  await expectRefusal(() => job.formerly("post", "mail"), "INVALID_NAME", 'got "mail", the name it has');
});
