// Compares the tables of the guide with the code.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { LIBRARY_STATUS, REQUEST_STATUS, titleOf } from "../../src/dashboard/server/problem.ts";
import { type Definition, Job, Punctual } from "../../src/index.ts";
import { frequencies } from "../../src/job/frequencies.ts";
import { Cron } from "../../src/schedule/cron.ts";
import { TestClock } from "../../src/testing/index.ts";
import { codeIn, root, tables } from "./support/markdown.ts";

test("every error code is explained", () => {
  const source = readFileSync(join(root, "src/errors.ts"), "utf8");
  const union = /export type ErrorCode =([^;]+);/.exec(source)?.[1] ?? "";
  const codes = [...union.matchAll(/"(\w+)"/g)].map(([, code]) => code!);
  const table = tables("docs/guide/retries-and-errors.md").find(({ header }) => header[0] === "code");
  const explained = table?.rows.map(([code = ""]) => codeIn(code)[0]);
  expect(codes.length).toBeGreaterThan(30);
  expect(explained).toEqual(codes);
});

describe("problems of the HTTP API", () => {
  const [own, library] = tables("docs/guide/http-api.md").filter(({ header }) => header.includes("status"));

  test("every code that the dashboard adds is explained, with its status", () => {
    const explained = own!.rows.map(([code = "", status]) => [codeIn(code)[0], Number(status)]);
    const byStatus = Object.entries(REQUEST_STATUS).sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1));
    expect(explained).toEqual(byStatus);
  });

  test("every code of the library that a request can cause has its status", () => {
    const listed = library!.rows.flatMap(([status, codes = ""]) =>
      codeIn(codes).map((code) => [code, Number(status)]),
    );
    expect(Object.fromEntries(listed)).toEqual(LIBRARY_STATUS);
  });

  test("every status has a title", () => {
    const all = [...Object.values(REQUEST_STATUS), ...Object.values(LIBRARY_STATUS)];
    expect(all.filter((status) => titleOf(status) === "Error")).toEqual([]);
  });
});

describe("schedules", () => {
  const listed = tables("docs/guide/schedules.md").filter(({ header }) => /^calls?$/.test(header[0]!));
  const rows = listed.flatMap((table) =>
    table.rows.map(([calls, cron]) => [codeIn(calls!)[0]!, codeIn(cron!)[0]!]),
  );
  const callsIn = (text: string) =>
    [...text.matchAll(/(\w+)\(([^)]*)\)/g)].map(([, name, args]) => ({ name: name!, args: args! }));

  test.each(rows)("%s is %s", (text, cron) => {
    const job = new Punctual("sqlite::memory:").schedule("job", () => {});
    for (const { name, args } of callsIn(text)) {
      const helper = job[name as keyof typeof frequencies] as (...args: unknown[]) => Definition;
      helper.apply(job, JSON.parse(`[${args}]`));
    }
    expect(job.plan.toCron()).toBe(cron);
  });

  test("every helper is listed", () => {
    const named = new Set(rows.flatMap(([text]) => callsIn(text!).map(({ name }) => name)));
    expect(Object.keys(frequencies).filter((name) => !named.has(name))).toEqual([]);
  });
});

describe("coming from", async () => {
  const STATES = ["works", "not taken over"];
  const rows = tables("docs/guide/coming-from.md").flatMap(({ header, rows }) => {
    expect(header).toEqual(["theirs", "ours", "state"]);
    return rows.map(([theirs = "", ours = "", state = ""]) => ({ theirs, ours, state }));
  });

  const jobs = new Punctual("sqlite::memory:");
  const context = Promise.withResolvers<object>();
  const job = jobs.schedule("job", (_args, run) => context.resolve(run));
  const dispatch = job.dispatch();
  const objects: Record<string, object> = {
    jobs,
    Job,
    job,
    dispatch,
    draft: jobs.draft(),
    run: await dispatch,
    clock: new TestClock(),
    cron: new Cron("* * * * *"),
  };
  await jobs.run();
  objects.context = await context.promise;
  await jobs.stop();

  /** The members that a cell names, such as `jobs.runs`, each with whether it exists. */
  const membersIn = (cell: string) =>
    codeIn(cell)
      .flatMap((code) => [
        ...code.matchAll(/\b(jobs|Job|job|dispatch|draft|run|context|clock|cron)\.(\w+)(?=\(|$)/g),
      ])
      .filter(([, , member]) => !/^(started|failed|completed)$/.test(member!))
      .map(([text, object, member]) => ({ text, there: member! in objects[object!]! }));

  test("every row has a status", () => {
    expect(rows.length).toBeGreaterThan(100);
    expect(rows.filter(({ state }) => !STATES.includes(state))).toEqual([]);
  });

  test("a feature that exists can be called", () => {
    const named = rows.filter(({ state }) => state === "works").flatMap(({ ours }) => membersIn(ours));
    expect(named.length).toBeGreaterThan(100);
    expect(named.filter(({ there }) => !there)).toEqual([]);
  });
});
