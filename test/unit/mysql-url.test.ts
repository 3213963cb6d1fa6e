import { describe, expect, test } from "vitest";
import { parseMysqlHosts, parseMysqlUrl } from "../../src/store/mysql/url.ts";

describe("the URL of MySQL", () => {
  test("names user, password, host, port and database, percent-encoded", () => {
    const url = "mysql://us%40er:p%2Fass%23@db.example:3307/jo%20bs";
    expect(parseMysqlUrl(url)).toMatchObject({
      user: "us@er",
      password: "p/ass#",
      host: "db.example",
      port: 3307,
      database: "jo bs",
      charset: "utf8mb4",
    });
  });

  test("has defaults", () => {
    expect(parseMysqlUrl("mariadb://localhost/jobs")).toMatchObject({
      host: "localhost",
      port: 3306,
      connectionLimit: 10,
      maxIdle: 10,
      connectTimeout: 10_000,
      enableKeepAlive: true,
    });
  });

  test("removes the brackets of an IPv6 address", () => {
    expect(parseMysqlUrl("mysql://root@[::1]:3306/jobs")).toMatchObject({ host: "::1" });
  });

  test("pool bounds the connections", () => {
    expect(parseMysqlUrl("mysql://h/d?pool=3")).toMatchObject({ connectionLimit: 3, maxIdle: 3 });
    expect(parseMysqlUrl("mysql://h/d?connectionLimit=4")).toMatchObject({ connectionLimit: 4 });
  });

  test("passes parameters of mysql2 on, JSON decoded", () => {
    const url = 'mysql://h/d?ssl={"rejectUnauthorized":false}&socketPath=/run/mysqld.sock&connectTimeout=500';
    expect(parseMysqlUrl(url)).toMatchObject({
      ssl: { rejectUnauthorized: false },
      socketPath: "/run/mysqld.sock",
      connectTimeout: 500,
    });
    expect(parseMysqlUrl("mysql://h/d?ssl=Amazon%20RDS")).toMatchObject({ ssl: "Amazon RDS" });
  });

  test.each([
    ["mysql://root@host", /names no database/],
    ["mysql://h/d?pool=0", /pool=<whole number from 1>/],
    ["mysql://h/d?pool=many", /pool=<whole number from 1>/],
    ["mysql://h/d?sslmode=require", /unknown parameter "sslmode"/],
    ["mysql://h/d?poool=3", /unknown parameter "poool". Did you mean "pool"\?/],
    ["mysql://h/d?connect_timeout=3", /Did you mean "connectTimeout"\?/],
    ["mysql://h/d?charset=latin1", /utf8mb4/],
    ["mysql://root:%zz@h/d", /password .* percent-encoded/],
  ])("%s is refused", (url, message) => {
    expect(() => parseMysqlUrl(url)).toThrow(
      expect.objectContaining({ code: "DATABASE_URL", message: expect.stringMatching(message) }),
    );
  });

  test("an error never contains the password", () => {
    for (const url of [
      "mysql://root:geheim@h:99999/d",
      "mysql://root:geheim@h",
      "mysql://root:geheim@h/d?x=1",
    ]) {
      try {
        parseMysqlUrl(url);
        expect.unreachable();
      } catch (error) {
        const { message, cause } = error as Error;
        expect(`${message} ${JSON.stringify(cause)}`).not.toContain("geheim");
      }
    }
  });
});

describe("a list of hosts in the URL of MySQL", () => {
  test.each(["mysql", "mariadb"])("has the options of each host of %s", (scheme) => {
    const hosts = parseMysqlHosts(`${scheme}://me:secret@a,b:3307/jobs?pool=3`);
    const same = { user: "me", password: "secret", database: "jobs", connectionLimit: 3 };
    expect(hosts).toMatchObject([
      { name: "a:3306", options: { host: "a", port: 3306, ...same } },
      { name: "b:3307", options: { host: "b", port: 3307, ...same } },
    ]);
  });

  test.each([
    ["a,/jobs", "has an empty place"],
    ["a,b:/jobs", 'contains "b:", which is no host'],
    ["a,a:3306/jobs", "names a:3306 twice"],
    ["a,b/jobs?socketPath=/run/mysqld.sock", "has a list of hosts and socketPath"],
  ])("is refused: %s", (rest, message) => {
    const parse = () => parseMysqlHosts(`mysql://me:secret@${rest}`);
    expect(parse).toThrow(expect.objectContaining({ code: "DATABASE_URL" }));
    expect(parse).toThrow(message);
    expect(parse).not.toThrow(/secret/);
  });
});
