import { expect, test } from "vitest";
import { listen, open } from "./support/instance.ts";

test("an action of an operator is recorded and announced", async () => {
  const { jobs, clock } = open();
  const acted = listen(jobs, "operator.acted");
  const action = {
    action: "queue.pause",
    target: "emails",
    user: "ana",
    role: "admin",
    details: { for: 60 },
  };
  await jobs.recordAction({ ...action, source: "dashboard" });
  await jobs.recordAction({ action: "run.retry", target: "7" });
  const at = new Date(clock.now());
  expect(acted).toEqual([
    { ...action, source: "dashboard", at },
    { action: "run.retry", target: "7", user: null, role: null, details: null, source: "api", at },
  ]);
  const { entries, next } = await jobs.audit();
  expect(next).toBeNull();
  expect(entries).toMatchObject([
    { action: "run.retry", details: undefined },
    { ...action, at },
  ]);
  const page = await jobs.audit({ limit: 1 });
  expect(page.next).toBe(page.entries[0]!.id);
  expect((await jobs.audit({ limit: 1, before: page.next! })).entries).toMatchObject([{ target: "emails" }]);
});

test.each([
  [{ action: "", target: "x" }, "INVALID_NAME"],
  [{ action: "a", target: "x", usr: "ana" }, "INVALID_OPTION"],
  [{ action: "a", target: "x", details: "y".repeat(70_000) }, "PAYLOAD_TOO_LARGE"],
])("%j is refused", async (action, code) => {
  const { jobs } = open();
  await expect(jobs.recordAction(action as never)).rejects.toMatchObject({ code });
  expect((await jobs.audit()).entries).toEqual([]);
});
