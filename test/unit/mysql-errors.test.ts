import { describe, expect, test } from "vitest";
import { PunctualError } from "../../src/errors.ts";
import {
  flavourOf,
  isConflict,
  isConnectionLost,
  isDuplicate,
  isMisconfiguration,
  translate,
} from "../../src/store/mysql/errors.ts";

const server = (errno: number, message = "said so") =>
  Object.assign(new Error(message), { errno, code: `ER_${errno}`, sqlState: "HY000", sqlMessage: message });
const socket = (code: string, message = "no") => Object.assign(new Error(message), { code, errno: -111 });

describe("errors of MySQL and MariaDB", () => {
  test.each([1213, 1205, 1020, 1412, 1615, 3101])("%i is a conflict, and the connection is kept", (errno) => {
    expect(isConflict(server(errno))).toBe(true);
    expect(isConnectionLost(server(errno))).toBe(false);
    expect(translate(server(errno))).toMatchObject({ code: "DATABASE_BUSY" });
  });

  test.each([1040, 1053, 1203, 1317, 1836, 1927, 2006, 2013, 4031])("%i ends the connection", (errno) => {
    expect(isConnectionLost(server(errno))).toBe(true);
    expect(isConflict(server(errno))).toBe(false);
  });

  test("1290 counts only if it is about read-only", () => {
    expect(isConnectionLost(server(1290, "running with the --read-only option"))).toBe(true);
    expect(isConnectionLost(server(1290, "running with the --secure-file-priv option"))).toBe(false);
    expect(translate(server(1290, "running with the --super-read-only option"))).toMatchObject({
      code: "DATABASE_READ_ONLY",
    });
  });

  test.each(["PROTOCOL_CONNECTION_LOST", "ECONNRESET", "EPIPE", "ECONNREFUSED", "ETIMEDOUT"])(
    "%s is a lost connection",
    (code) => {
      expect(isConnectionLost(socket(code))).toBe(true);
      expect(translate(socket(code))).toMatchObject({ code: "DATABASE_UNAVAILABLE" });
    },
  );

  test("errors of mysql2 without a code are recognised by their text", () => {
    expect(isConnectionLost(new Error("Can't add new command when connection is in closed state"))).toBe(
      true,
    );
    expect(translate(new Error("Pool is closed."))).toMatchObject({ code: "CLOSED" });
  });

  test("an unknown host is a misconfiguration, a refused connection is not", () => {
    expect(isMisconfiguration(socket("ENOTFOUND"))).toBe(true);
    expect(isMisconfiguration(socket("ECONNREFUSED"))).toBe(false);
  });

  test("a duplicate is found in a wrapped error", () => {
    expect(isDuplicate(server(1062))).toBe(true);
    expect(isDuplicate(new PunctualError("DATABASE", "x", { cause: server(1062) }))).toBe(true);
    expect(isDuplicate(new Error("of a library", { cause: server(1062) }))).toBe(true);
    expect(
      isDuplicate(Object.assign(new Error("of Prisma"), { code: "P2010", meta: { code: "1062" } })),
    ).toBe(true);
    expect(isDuplicate(server(1213))).toBe(false);
    expect(isDuplicate(null)).toBe(false);
    expect(isDuplicate("1062")).toBe(false);
  });

  test.each([
    [server(1045, "Access denied for user 'x'@'y'"), "DATABASE_ACCESS"],
    [server(1049, "Unknown database 'x'"), "DATABASE_MISSING"],
    [server(1040, "Too many connections"), "DATABASE_UNAVAILABLE"],
    [server(1142, "CREATE command denied"), "DATABASE_ACCESS"],
    [server(1064, "You have an error in your SQL syntax"), "DATABASE"],
    [server(1390, "Prepared statement contains too many placeholders"), "DATABASE"],
    [server(1644, "raised by a trigger"), "DATABASE"],
    [server(1366, "Incorrect string value"), "DATA_REJECTED"],
    [server(1406, "Data too long"), "DATA_REJECTED"],
    [server(3140, "Invalid JSON text"), "DATA_REJECTED"],
    [server(4025, "CONSTRAINT failed"), "DATA_REJECTED"],
    [server(1153, "Got a packet bigger than 'max_allowed_packet'"), "DATA_REJECTED"],
    [server(1021, "Disk full"), "DATABASE_FAILING"],
    [server(1114, "The table 'x' is full"), "DATABASE_FAILING"],
    [server(1041, "Out of memory"), "DATABASE_FAILING"],
    [server(1461, "Can't create more than max_prepared_stmt_count"), "DATABASE_FAILING"],
    [server(3, "Error writing file (errno 28)"), "DATABASE_FAILING"],
    [server(1290, "running with the --read-only option"), "DATABASE_READ_ONLY"],
    [socket("HANDSHAKE_SSL_ERROR", "self-signed certificate"), "DATABASE_UNAVAILABLE"],
    [socket("HANDSHAKE_NO_SSL_SUPPORT"), "DATABASE_UNAVAILABLE"],
    [new AggregateError([socket("ECONNREFUSED")]), "DATABASE_UNAVAILABLE"],
  ])("%s becomes %s", (error, code) => {
    const ours = translate(error);
    expect(ours).toBeInstanceOf(PunctualError);
    expect(ours).toMatchObject({ code, cause: error });
  });

  test("an unknown error is not translated", () => {
    const error = new TypeError("mine");
    expect(translate(error)).toBe(error);
    expect(translate(undefined)).toBe(undefined);
    expect(isConnectionLost(error)).toBe(false);
  });
});

describe("the version of the server", () => {
  test.each([
    ["8.0.36", "mysql"],
    ["9.7.4-2", "mysql"],
    ["8.4.0-commercial", "mysql"],
    ["10.6.1-MariaDB", "mariadb"],
    ["10.11.19-MariaDB-0+deb12u1", "mariadb"],
    ["11.4.2-MariaDB-log", "mariadb"],
  ])("%s is %s", (version, name) => {
    expect(flavourOf(version)).toBe(name);
  });

  test.each(["5.7.44", "10.5.27-MariaDB", "5.5.68-MariaDB"])(
    "%s is too old, and the error names it",
    (version) => {
      expect(() => flavourOf(version)).toThrow(version);
    },
  );
});
