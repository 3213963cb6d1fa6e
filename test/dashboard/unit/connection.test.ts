import { expect, test } from "vitest";
import { Connection, type Surroundings } from "../../../dashboard/src/live/connection.ts";

/** Surroundings whose streams, polls and timers the test controls. */
function scene() {
  const log: string[] = [];
  const timers: { at: number; call(): void }[] = [];
  let time = 0;
  let handlers: Parameters<Surroundings["open"]>[0] | null = null;
  let answer: { resolve(): void; reject(error: Error): void } | null = null;
  const connection = new Connection(
    {
      open(given) {
        log.push("open");
        handlers = given;
        return () => {
          if (handlers === given) handlers = null;
        };
      },
      poll(signal) {
        log.push("poll");
        return new Promise<void>((resolve, reject) => {
          answer = { resolve, reject };
          signal.addEventListener("abort", () => reject(new Error("aborted")));
        });
      },
      later(milliseconds, call) {
        const timer = { at: time + milliseconds, call };
        timers.push(timer);
        return () => {
          if (timers.includes(timer)) timers.splice(timers.indexOf(timer), 1);
        };
      },
      now: () => time,
    },
    () => {},
  );
  const flush = () => new Promise((resolve) => setImmediate(resolve));
  return {
    connection,
    log,
    stream: () => handlers,
    pending: () => timers.length,
    async advance(milliseconds: number) {
      time += milliseconds;
      for (const timer of timers.filter(({ at }) => at <= time)) {
        timers.splice(timers.indexOf(timer), 1);
        timer.call();
      }
      await flush();
    },
    async answer(ok: boolean) {
      if (ok) answer!.resolve();
      else answer!.reject(new Error("unreachable"));
      await flush();
    },
  };
}

test("an open stream is live, and one failure reconnects", async () => {
  const { connection, stream, log, advance } = scene();
  connection.start();
  expect(connection.status).toBe("reconnecting");
  stream()!.opened();
  expect(connection.status).toBe("live");
  stream()!.failed();
  expect(connection.status).toBe("reconnecting");
  await advance(1_000);
  stream()!.opened();
  expect(connection.status).toBe("live");
  expect(log).toEqual(["open", "open"]);
});

test("after two failures in a row the page polls, and tries the stream again later", async () => {
  const { connection, stream, log, advance, answer } = scene();
  connection.start();
  stream()!.failed();
  await advance(1_000);
  stream()!.failed();
  expect(connection.polling).toBe(true);
  await answer(true);
  expect(connection.status).toBe("live");
  await advance(60_000);
  expect(log).toEqual(["open", "open", "poll", "open"]);
  expect(connection.polling).toBe(false);
});

test("a poll follows only once the one before has ended, and rests longer if that was slow", async () => {
  const { connection, stream, log, advance, answer, pending } = scene();
  connection.start();
  stream()!.failed();
  await advance(1_000);
  stream()!.failed();
  await advance(5_000);
  expect(log.filter((entry) => entry === "poll")).toHaveLength(1);
  expect(pending()).toBe(0);
  await answer(true);
  await advance(19_000);
  expect(log.filter((entry) => entry === "poll")).toHaveLength(1);
  await advance(1_000);
  expect(log.filter((entry) => entry === "poll")).toHaveLength(2);
});

test("polls that fail are offline, and heal by themselves", async () => {
  const { connection, stream, advance, answer } = scene();
  connection.start();
  stream()!.failed();
  await advance(1_000);
  stream()!.failed();
  await answer(false);
  expect(connection.status).toBe("reconnecting");
  await advance(3_000);
  await answer(false);
  expect(connection.status).toBe("offline");
  await advance(3_000);
  await answer(true);
  expect(connection.status).toBe("live");
});

test("a paused page sends nothing, also if it is hidden and shown meanwhile", async () => {
  const { connection, stream, log, advance, pending } = scene();
  connection.start();
  stream()!.opened();
  connection.paused = true;
  expect(connection.status).toBe("paused");
  connection.hidden = true;
  connection.hidden = false;
  await advance(600_000);
  expect(stream()).toBeNull();
  expect(pending()).toBe(0);
  expect(log).toEqual(["open"]);
  connection.paused = false;
  expect(log).toEqual(["open", "open"]);
});

test("a hidden page closes its stream, and opens it when it is shown", async () => {
  const { connection, stream, log, advance } = scene();
  connection.start();
  stream()!.opened();
  connection.hidden = true;
  await advance(600_000);
  expect(stream()).toBeNull();
  connection.hidden = false;
  expect(stream()).not.toBeNull();
  expect(log).toEqual(["open", "open"]);
});

test("a page that is hidden while it polls stops polling", async () => {
  const { connection, stream, log, advance, answer, pending } = scene();
  connection.start();
  stream()!.failed();
  await advance(1_000);
  stream()!.failed();
  connection.hidden = true;
  await answer(true);
  await advance(600_000);
  expect(pending()).toBe(0);
  expect(log).toEqual(["open", "open", "poll"]);
});

test("a stream that has been silent for 20 seconds is opened again", async () => {
  const { connection, log, stream, advance } = scene();
  connection.start();
  stream()!.opened();
  await advance(19_000);
  stream()!.heard();
  await advance(19_000);
  expect([connection.status, log]).toEqual(["live", ["open"]]);
  await advance(1_000);
  expect(connection.status).toBe("reconnecting");
  await advance(1_000);
  expect(log).toEqual(["open", "open"]);
});

test("a stream that was closed is not watched any more", async () => {
  const { connection, stream, pending } = scene();
  connection.start();
  stream()!.opened();
  connection.paused = true;
  expect(pending()).toBe(0);
});
