import { expect, test } from "vitest";
import { parsePostgresUrl, schemaName } from "../../src/store/postgres/url.ts";

const plain = "postgres://me:secret@host:5433/app";
const defaults = { schema: null, pool: 10, notify: true, connectTimeout: 10_000 };

test("a URL without parameters is not changed", () => {
  expect(parsePostgresUrl(plain)).toEqual({ connectionString: plain, ...defaults });
});

test("parameters of pg are passed on unchanged", () => {
  const url = `${plain}?sslmode=no-verify&options=-c%20geqo%3Doff&application_name=a+b`;
  expect(parsePostgresUrl(url)).toEqual({ connectionString: url, ...defaults });
});

test("parameters of Punctual are removed", () => {
  expect(
    parsePostgresUrl(`${plain}?schema=jobs&sslmode=require&pool=3&notify=off&connect_timeout=2&host=/tmp`),
  ).toEqual({
    connectionString: `${plain}?sslmode=require&host=/tmp`,
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
  expect(parsePostgresUrl(url)).toEqual({ connectionString: url, ...defaults });
});

test("schema names are checked", () => {
  for (const name of ["a", "App_1", "my-jobs", "_x$"]) expect(schemaName(name)).toBe(name);
  expect(schemaName(undefined)).toBeNull();
});
