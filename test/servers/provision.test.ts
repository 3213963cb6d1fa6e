import { expect, test, vi } from "vitest";
import { type Program, programsBeside, provisionBeside } from "./provision.ts";
import { serverKinds } from "./server.ts";

const missing = (name: string): Program => ({ name, isHere: () => false, packages: [] });

test("names every program that is missing, if all are required", () => {
  const here = { ...missing("here"), isHere: () => true };
  expect(() => provisionBeside([missing("one"), here, missing("two")], true)).toThrow(
    /^one was not found\.\ntwo was not found\.$/,
  );
  expect(() => provisionBeside([here], true)).not.toThrow();
});

test("leaves the tests of a missing program out, if not all are required", () => {
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  expect(() => provisionBeside([missing("one")], false)).not.toThrow();
  expect(log).toHaveBeenCalledWith("one was not found.\nIts tests are left out.");
  log.mockRestore();
});

test("knows the programs whose tests would be left out", () => {
  const names = serverKinds.flatMap((kind) => programsBeside(kind).map(({ name }) => name));
  expect([...new Set(names)].sort()).toEqual([
    "Galera",
    "MySQL's plugin group_replication",
    "Patroni",
    "PgBouncer",
    "libfaketime",
  ]);
});
