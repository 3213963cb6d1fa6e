import { expect, test } from "vitest";
import { PunctualError } from "../../src/errors.ts";
import { Emitter } from "../../src/events/events.ts";
import { toLogger } from "../../src/events/logger.ts";
import { systemClock } from "../../src/time.ts";
import { Deadline } from "../../src/worker/deadline.ts";
import { untilAnswered } from "../../src/worker/waits.ts";

test("a call is repeated until there is an answer, and each error is reported", async () => {
  const events = new Emitter(toLogger(false));
  const told: string[] = [];
  events.on("error", ({ during }) => told.push(during));
  let asked = 0;
  const answer = await untilAnswered(
    async () => {
      if (++asked < 3) throw new PunctualError("DATABASE_UNAVAILABLE", "It is away.");
      return "here";
    },
    "asking",
    { clock: systemClock, random: Math.random, events, deadline: new Deadline(() => {}) },
  );
  expect(answer).toBe("here");
  expect(asked).toBe(3);
  expect(told).toEqual(["asking", "asking"]);
});
