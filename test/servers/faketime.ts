import { existsSync } from "node:fs";

/** The package of Debian. */
export const FAKETIME_PACKAGE = "faketime";

/** Returns libfaketime, with which the system calls of a process return another time. */
export function findFaketime(): string | undefined {
  return ["x86_64", "aarch64"]
    .map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketime.so.1`)
    .find((path) => existsSync(path));
}

/** Environment of a process whose wall clock is wrong. The monotonic clock stays right. */
export function fakeClock(library: string, how: { FAKETIME: string } | { file: string }): NodeJS.ProcessEnv {
  const from =
    "file" in how
      ? // Read again every second, so that the clock can be set while the process runs.
        { FAKETIME_TIMESTAMP_FILE: how.file, FAKETIME_CACHE_DURATION: "1" }
      : how;
  return { LD_PRELOAD: library, ...from, DONT_FAKE_MONOTONIC: "1", FAKETIME_DONT_FAKE_MONOTONIC: "1" };
}
