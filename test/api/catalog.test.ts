import { expect, test } from "vitest";
import { open } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

test("a catalog lists the names of its jobs", () => {
  const { jobs } = open();
  const email = jobs.define("email", (_args: { to: string }) => {});
  const charge = jobs.declare<{ id: number }>("billing.charge");
  expect(jobs.catalog({ email, "billing.charge": charge }).names).toEqual(["email", "billing.charge"]);
});

test("a job must be listed under its own name", async () => {
  const { jobs } = open();
  const welcome = jobs.define("mail.welcome", () => {});
  await expectRefusal(
    () => jobs.catalog({ welcome }),
    "INVALID_NAME",
    'catalog() has the job "mail.welcome" under "welcome"',
    'write { "mail.welcome": … }',
  );
});

test("anything but jobs by name is refused", async () => {
  const { jobs } = open();
  const email = jobs.define("email", () => {});
  await expectRefusal(() => jobs.catalog([email] as never), "INVALID_OPTION", "expected jobs by name");
  await expectRefusal(() => jobs.catalog(null as never), "INVALID_OPTION", "got null");
  await expectRefusal(
    () => jobs.catalog({ email: "email" } as never),
    "INVALID_OPTION",
    'expected a job under "email"',
  );
  await email.queue("late").dispatch();
  await expectRefusal(
    () => jobs.catalog({ email: email.draft() } as never),
    "INVALID_OPTION",
    'expected a job under "email"',
  );
});
