import { expect, test } from "vitest";
import { PunctualError } from "../../src/errors.ts";
import {
  checkVersion,
  isConflict,
  isConnectionLost,
  isDuplicate,
  isMisconfiguration,
  translate,
} from "../../src/store/postgres/errors.ts";

const fault = (code: string | undefined, message = "as the server says") =>
  Object.assign(new Error(message), code === undefined ? {} : { code });

test.each(["40001", "40P01", "55P03"])("%s is a conflict", (code) => {
  expect(isConflict(fault(code))).toBe(true);
  expect(isConflict(translate(fault(code)))).toBe(true);
  expect(isConnectionLost(fault(code))).toBe(false);
});

test.each([
  "57P01",
  "57P02",
  "57P03",
  "08006",
  "08003",
  "53300",
  "25006",
  "ECONNRESET",
  "EPIPE",
  "ECONNREFUSED",
  "ETIMEDOUT",
])("%s is a lost connection", (code) => {
  expect(isConnectionLost(fault(code))).toBe(true);
  expect(isConnectionLost(translate(fault(code)))).toBe(true);
  expect(isConflict(fault(code))).toBe(false);
});

test("08P01 of the server itself is a protocol violation; PgBouncer ends connections with it", () => {
  const tooMany = Object.assign(fault("08P01", "bind message has 4464 parameter formats but 0 parameters"), {
    routine: "exec_bind_message",
  });
  expect(isConnectionLost(tooMany)).toBe(false);
  expect(isConnectionLost(translate(tooMany))).toBe(false);
  expect(translate(tooMany)).toMatchObject({ code: "DATABASE" });
  expect(isConnectionLost(fault("08P01", "query_wait_timeout"))).toBe(true);
});

test.each([
  "Connection terminated",
  "Connection terminated unexpectedly",
  "Connection terminated due to connection timeout",
  "Client has encountered a connection error and is not queryable",
  "timeout expired",
  "timeout exceeded when trying to connect",
  "Query read timeout",
])("%s is a lost connection without a code", (message) => {
  expect(isConnectionLost(fault(undefined, message))).toBe(true);
});

test.each(["57014", "42P01", "23505", "28P01", "3D000", "42501", "22012"])("%s is permanent", (code) => {
  expect(isConnectionLost(fault(code))).toBe(false);
  expect(isConflict(fault(code))).toBe(false);
});

test("errors of others are not translated", () => {
  for (const thrown of [new Error("Connection refused by the handler"), "ECONNRESET", null, undefined, {}]) {
    expect(isConnectionLost(thrown)).toBe(false);
    expect(isConflict(thrown)).toBe(false);
    expect(isDuplicate(thrown)).toBe(false);
    expect(translate(thrown)).toBe(thrown);
  }
});

test("a host whose addresses all refuse is unreachable", () => {
  const all = new AggregateError([fault("ECONNREFUSED"), fault("ECONNREFUSED")]);
  expect(isConnectionLost(all)).toBe(true);
  expect(translate(all)).toMatchObject({ code: "DATABASE_UNAVAILABLE" });
});

test("duplicates are recognised, also when translated", () => {
  expect(isDuplicate(fault("23505"))).toBe(true);
  expect(isDuplicate(translate(fault("23505")))).toBe(true);
});

test("misconfigured URLs are recognised", () => {
  expect(isMisconfiguration(fault("ENOTFOUND"))).toBe(true);
  expect(isMisconfiguration(fault(undefined, "The server does not support SSL connections"))).toBe(true);
  expect(isMisconfiguration(fault("ECONNREFUSED"))).toBe(false);
});

test.each([
  ["28P01", "DATABASE_ACCESS"],
  ["28000", "DATABASE_ACCESS"],
  ["42501", "DATABASE_ACCESS"],
  ["3D000", "DATABASE_MISSING"],
  ["3F000", "DATABASE_MISSING"],
  ["25006", "DATABASE_READ_ONLY"],
  ["53300", "DATABASE_UNAVAILABLE"],
  ["57P01", "DATABASE_UNAVAILABLE"],
  ["ECONNREFUSED", "DATABASE_UNAVAILABLE"],
  ["ENOTFOUND", "DATABASE_UNAVAILABLE"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "DATABASE_UNAVAILABLE"],
  ["40P01", "DATABASE_BUSY"],
  ["55P03", "DATABASE_BUSY"],
  ["57014", "DATABASE_BUSY"],
  ["42P01", "DATABASE"],
  ["P0001", "DATABASE"],
  ["22P05", "DATA_REJECTED"],
  ["22021", "DATA_REJECTED"],
  ["23505", "DATA_REJECTED"],
  ["23514", "DATA_REJECTED"],
  ["54000", "DATA_REJECTED"],
  ["53100", "DATABASE_FAILING"],
  ["53200", "DATABASE_FAILING"],
  ["57P04", "DATABASE_FAILING"],
  ["58030", "DATABASE_FAILING"],
  ["XX000", "DATABASE_FAILING"],
])("%s becomes %s", (from, code) => {
  const error = fault(from);
  const ours = translate(error);
  expect(ours).toBeInstanceOf(PunctualError);
  expect(ours).toMatchObject({ code, cause: error });
  expect(translate(ours)).toBe(ours);
});

test("an ended pool is closed, a full one is busy", () => {
  expect(translate(fault(undefined, "Cannot use a pool after calling end on the pool"))).toMatchObject({
    code: "CLOSED",
  });
  expect(translate(fault(undefined, "timeout exceeded when trying to connect"))).toMatchObject({
    code: "DATABASE_BUSY",
  });
});

test.each([
  [120_022, "got 12."],
  [90_624, "got 9."],
])("a server of version %i is refused", (version, told) => {
  expect(() => checkVersion(version)).toThrow(told);
});

test("the oldest supported version is accepted", () => {
  expect(checkVersion(130_000)).toBeUndefined();
});
