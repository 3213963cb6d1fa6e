import { expect, test } from "vitest";
import { parsePostgresUrl, schemaName } from "../../src/store/postgres/url.ts";

const plain = "postgres://me:secret@host:5433/app";
const name = "host:5433";
const defaults = { schema: null, pool: 10, notify: true, connectTimeout: 10_000 };

test("a URL without parameters is not changed", () => {
  expect(parsePostgresUrl(plain)).toEqual({ hosts: [{ name, url: plain }], ...defaults });
});

test("parameters of pg are passed on unchanged", () => {
  const url = `${plain}?sslmode=no-verify&options=-c%20geqo%3Doff&application_name=a+b`;
  expect(parsePostgresUrl(url)).toEqual({ hosts: [{ name, url }], ...defaults });
});

test("parameters of Punctual are removed", () => {
  expect(
    parsePostgresUrl(`${plain}?schema=jobs&sslmode=require&pool=3&notify=off&connect_timeout=2&host=/tmp`),
  ).toEqual({
    hosts: [{ name, url: `${plain}?sslmode=require&host=/tmp` }],
    schema: "jobs",
    pool: 3,
    notify: false,
    connectTimeout: 2000,
  });
});

test.each([
  "pool=0",
  "pool=x",
  "pool=1.5",
  "pool=",
  "notify=no",
  "schema=a.b",
  'schema=a"b',
  "schema=",
  "connect_timeout=-1",
])("refuses %s, without the password in the message", (query) => {
  const parse = () => parsePostgresUrl(`${plain}?${query}`);
  expect(parse).toThrow(expect.objectContaining({ code: "DATABASE_URL" }));
  expect(parse).not.toThrow(/secret/);
});

test.each([
  ["sslmod=require", "sslmode"],
  ["sslrootcrt=/a", "sslrootcert"],
  ["scheme=jobs", "schema"],
  ["Pool=3", "pool"],
  ["connectTimeout=3", "connect_timeout"],
  ["applicationname=x", "application_name"],
])("takes %s for a typo", (query, meant) => {
  const parse = () => parsePostgresUrl(`${plain}?${query}`);
  expect(parse).toThrow(expect.objectContaining({ code: "DATABASE_URL" }));
  expect(parse).toThrow(`Did you mean "${meant}"?`);
});

test("parameters of other programs are passed on", () => {
  const url = `${plain}?channel_binding=require&pgbouncer=true&connection_limit=1&pool_mode=session&supa=x`;
  expect(parsePostgresUrl(url)).toEqual({ hosts: [{ name, url }], ...defaults });
});

test("schema names are checked", () => {
  for (const name of ["a", "App_1", "my-jobs", "_x$"]) expect(schemaName(name)).toBe(name);
  expect(schemaName(undefined)).toBeNull();
});

test("a list of hosts becomes a URL for each of them", () => {
  const { hosts } = parsePostgresUrl(
    "postgres://me:s%2Cecret@a,b.example:5433,[::1]:5434/app?target_session_attrs=read-write&schema=jobs&sslmode=require",
  );
  expect(hosts).toEqual([
    { name: "a:5432", url: "postgres://me:s%2Cecret@a/app?sslmode=require" },
    { name: "b.example:5433", url: "postgres://me:s%2Cecret@b.example:5433/app?sslmode=require" },
    { name: "[::1]:5434", url: "postgres://me:s%2Cecret@[::1]:5434/app?sslmode=require" },
  ]);
});

test.each([
  ["a,,b/app", "has an empty place"],
  ["a,b,/app", "has an empty place"],
  ["a,b:x/app", 'contains "b:x", which is no host'],
  ["a,b:70000/app", "contains the port 70000"],
  ["a,b:5433,a:5432/app", "names a:5432 twice"],
  ["a/app?host=a,b", 'lists hosts in the parameter "host"'],
  ["a,b/app?target_session_attrs=standby", "Expected target_session_attrs=read-write"],
  ["a/app?target_session_attrs=read-only", "Expected target_session_attrs=read-write"],
  ["a,b/app?target_session_attr=primary", 'Did you mean "target_session_attrs"?'],
])("refuses the hosts %s, without the password in the message", (rest, message) => {
  const parse = () => parsePostgresUrl(`postgres://me:secret@${rest}`);
  expect(parse).toThrow(expect.objectContaining({ code: "DATABASE_URL" }));
  expect(parse).toThrow(message);
  expect(parse).not.toThrow(/secret/);
});

test.each(["read-write", "primary", "any"])("accepts target_session_attrs=%s", (value) => {
  expect(parsePostgresUrl(`${plain}?target_session_attrs=${value}`).hosts).toEqual([{ name, url: plain }]);
});
