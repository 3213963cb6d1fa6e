import { expect, test } from "vitest";
import { parsePostgresUrl, schemaName } from "../../src/store/postgres/url.ts";

const plain = "postgres://me:secret@host:5433/app";
const defaults = { schema: null, pool: 10, notify: true, connectTimeout: 10_000 };

test("without parameters", () => {
  expect(parsePostgresUrl(plain)).toEqual({ connectionString: plain, ...defaults });
});

test("what is pg's is left as it was written", () => {
  const url = `${plain}?sslmode=no-verify&options=-c%20geqo%3Doff&application_name=a+b`;
  expect(parsePostgresUrl(url)).toEqual({ connectionString: url, ...defaults });
});

test("what is ours is taken out", () => {
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
])("refuses %s, and does not tell the password", (query) => {
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
])("takes %s for a misspelling", (query, meant) => {
  const parse = () => parsePostgresUrl(`${plain}?${query}`);
  expect(parse).toThrow(expect.objectContaining({ code: "DATABASE_URL" }));
  expect(parse).toThrow(`Did you mean "${meant}"?`);
});

test("what is there for others stays", () => {
  const url = `${plain}?channel_binding=require&pgbouncer=true&connection_limit=1&pool_mode=session&supa=x`;
  expect(parsePostgresUrl(url)).toEqual({ connectionString: url, ...defaults });
});

test("names of schemas", () => {
  for (const name of ["a", "App_1", "my-jobs", "_x$"]) expect(schemaName(name)).toBe(name);
  expect(schemaName(undefined)).toBeNull();
});
