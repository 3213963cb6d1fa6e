import { expect, test } from "vitest";
import { PunctualError } from "../../src/errors.ts";
import { type Wait, waitUntil } from "../../src/operate/wait.ts";
import { givenUp } from "../../src/store/pending-calls.ts";
import { TestClock } from "../../src/testing/clock.ts";
import { systemClock } from "../../src/time.ts";

const outage = () => new PunctualError("DATABASE_UNAVAILABLE", "The server is away.");

/** A wait for the answer "over"; each element of `answers` is what one read returns or throws. */
function wait(answers: unknown[], fields: Partial<Wait<string, string>> = {}): Promise<string> {
  return waitUntil<string, string>({
    clock: systemClock,
    timeout: undefined,
    readEvery: 1,
    what: "Run 1",
    async read() {
      const answer = answers.length > 1 ? answers.shift() : answers[0];
      if (answer instanceof Error) throw answer;
      return answer as string;
    },
    resultOf: (found) => (found === "over" ? { result: found } : null),
    listen: () => () => {},
    state: (found) => `; it is ${found}.`,
    ...fields,
  });
}

test("a wait goes on through an outage once it has read something", async () => {
  expect(await wait(["running", outage(), outage(), "running", outage(), "over"])).toBe("over");
});

test("a wait rejects like every call if the database is away from the beginning", async () => {
  await expect(wait([outage()])).rejects.toMatchObject({ code: "DATABASE_UNAVAILABLE" });
});

test("a wait ends with the process, and for every other error", async () => {
  await expect(wait(["running", givenUp()])).rejects.toMatchObject({ code: "DATABASE_UNAVAILABLE" });
  const gone = new PunctualError("RUN_NOT_FOUND", "It is gone.");
  await expect(wait(["running", gone])).rejects.toBe(gone);
});

test("a wait rejects at its timeout, also while the database does not answer", async () => {
  const clock = new TestClock();
  const silent = wait([], { clock, timeout: 10, read: () => new Promise(() => {}) });
  const rejected = expect(silent).rejects.toMatchObject({
    code: "WAIT_TIMED_OUT",
    message: "Run 1 has not finished within 10 s, and the database has not answered.",
  });
  await clock.advance(10);
  await rejected;
});

test("in an outage, the message of a timeout has the last known state", async () => {
  const clock = new TestClock();
  const waiting = wait(["running", outage()], { clock, timeout: "10s" });
  const rejected = expect(waiting).rejects.toMatchObject({
    code: "WAIT_TIMED_OUT",
    message: 'Run 1 has not finished within "10s"; it is running.',
  });
  await clock.advance(10);
  await rejected;
});
