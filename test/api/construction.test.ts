import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { TestClock } from "../../src/testing/index.ts";
import { temporaryFolder } from "./support/child.ts";
import { open, stopped } from "./support/instance.ts";
import { expectRefusal } from "./support/refusal.ts";

const make = (...args: unknown[]) => Reflect.construct(Punctual, args) as Punctual;

async function works(jobs: Punctual): Promise<void> {
  const seen: unknown[] = [];
  jobs.schedule("greet", (args) => {
    seen.push(args);
  });
  await jobs.dispatch("greet", { name: "Ada" });
  expect(await jobs.run()).toBe(1);
  expect(seen).toEqual([{ name: "Ada" }]);
}

describe("a URL", () => {
  test.each(["sqlite::memory:", ":memory:"])("%s is a database in memory", async (url) => {
    await works(open({}, url).jobs);
  });

  test("sqlite: takes a relative or an absolute path", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "jobs.db");
    await works(open({}, `sqlite:${path}`).jobs);
    expect(existsSync(path)).toBe(true);
    const { jobs } = open({}, `sqlite://${path}`);
    expect((await jobs.runs()).runs).toHaveLength(1);
  });

  test.each(["full", "normal", "off"])("synchronous=%s", async (synchronous) => {
    await works(open({}, `sqlite:${join(temporaryFolder(), "jobs.db")}?synchronous=${synchronous}`).jobs);
  });

  test("opens nothing before it is used", async () => {
    const path = join(temporaryFolder(), "jobs.db");
    const { jobs } = open({}, `sqlite:${path}`);
    jobs.schedule("greet", () => {});
    expect(existsSync(path)).toBe(false);
  });
});

describe("an invalid URL", () => {
  test("that is an explicit undefined is a mistake, not the default database", async () => {
    await expectRefusal(() => make(undefined), "DATABASE_URL", "got undefined", "Leave the argument out");
    await expectRefusal(() => make(undefined, { logger: false }), "DATABASE_URL", "got undefined");
  });

  test.each([
    [null, "got"],
    [42, "got 42"],
    [[], "got []"],
    [new Map(), "got {}"],
    [true, "got true"],
  ])("%j", async (source, got) => {
    await expectRefusal(() => make(source), "DATABASE_URL", "Expected a database URL, a DatabaseSync", got);
  });

  test("that is a bare path gets a hint how to write it", async () => {
    await expectRefusal(() => make("./jobs.db"), "DATABASE_URL", 'got "./jobs.db"', '"sqlite:./jobs.db"');
  });

  test.each(["redis://user:secret@host/0", "sqlserver://sa:secret@host", "http://user:secret@host"])(
    "%s is refused without its password in the message",
    async (url) => {
      const error = await expectRefusal(
        () => make(url),
        "DATABASE_URL",
        `begins with "${url.split(":")[0]}:"`,
      );
      expect(`${error.message} ${error.stack}`).not.toContain("secret");
    },
  );

  test("without a file is refused", async () => {
    await expectRefusal(() => make(""), "DATABASE_URL", 'got ""');
    await expectRefusal(() => make("sqlite:").install(), "DATABASE_URL", "names no file", "sqlite::memory:");
  });

  test("with an unknown parameter is refused", async () => {
    await expectRefusal(
      () => make("sqlite::memory:?sync=off").install(),
      "DATABASE_URL",
      'unknown parameter "sync"',
      "synchronous",
    );
    await expectRefusal(
      () => make("sqlite::memory:?synchronous=maybe").install(),
      "DATABASE_URL",
      "full, normal, off",
      'got "maybe"',
    );
  });

  test("in a folder that does not exist fails until the folder exists", async () => {
    const folder = temporaryFolder();
    const { jobs } = open({}, `sqlite:${join(folder, "later", "jobs.db")}`);
    jobs.schedule("greet", () => {});
    await expectRefusal(() => jobs.dispatch("greet"), "DATABASE_MISSING", "later", "Create");
    mkdirSync(join(folder, "later"));
    expect((await jobs.dispatch("greet")).inserted).toBe(true);
  });

  test("that names another kind of file leaves it unchanged", async () => {
    const path = join(temporaryFolder(), "letter.txt");
    const letter = "Dear Ada, ".repeat(500);
    writeFileSync(path, letter);
    const { jobs } = open({}, `sqlite:${path}`);
    await expectRefusal(() => jobs.status(), "NOT_A_DATABASE", "letter.txt", "was not changed");
    expect(readFileSync(path, "utf8")).toBe(letter);
  });
});

describe("a DatabaseSync of the caller's", () => {
  test("in memory is shared and stays open", async () => {
    const db = new DatabaseSync(":memory:");
    const one = open({}, db);
    await works(one.jobs);
    expect(db.prepare("select name from punctual_history").all()).toEqual([{ name: "greet" }]);
    await stopped(one);
    expect(db.isOpen).toBe(true);
    db.close();
  });

  test("on a file gets a second connection, which does not share an open transaction", async () => {
    const path = join(temporaryFolder(), "app.db");
    const db = new DatabaseSync(path);
    const one = open({}, db);
    await one.jobs.install();
    db.exec("begin");
    await works(one.jobs);
    db.exec("rollback");
    const { runs } = await one.jobs.runs();
    expect(runs.map((run) => run.state)).toEqual(["completed"]);
    await stopped(one);
    expect(db.isOpen).toBe(true);
    db.close();
  });
});

describe("options", () => {
  test("with an unknown key are refused", async () => {
    await expectRefusal(
      () => make("sqlite::memory:", { prefx: "x_" }),
      "INVALID_OPTION",
      'no option "prefx"',
      'Did you mean "prefix"?',
    );
    await expectRefusal(
      () => make("sqlite::memory:", { zebra: 1 }),
      "INVALID_OPTION",
      "Known: prefix, defaults",
    );
  });

  test.each([[null], ["sqlite"], [7], [[]]])("that are not an object are refused: %j", async (options) => {
    await expectRefusal(() => make("sqlite::memory:", options), "INVALID_OPTION", "new Punctual()", "object");
  });

  test.each(["", "1abc", "a-b", "a b", "x;drop table y", "p".repeat(31), 7])(
    "prefix %j is refused",
    async (prefix) => {
      await expectRefusal(() => make("sqlite::memory:", { prefix }), "INVALID_OPTION", "table prefix", "got");
    },
  );

  test("with a prefix separate two instances in one database", async () => {
    const db = new DatabaseSync(":memory:");
    const one = open({ prefix: "one_" }, db);
    const two = open({ prefix: "Two_" }, db);
    await works(one.jobs);
    expect((await two.jobs.runs()).runs).toEqual([]);
    const tables = db.prepare("select name from sqlite_schema where type = 'table'").all() as {
      name: string;
    }[];
    expect(tables.filter(({ name }) => name.startsWith("punctual_"))).toEqual([]);
    expect(tables.map(({ name }) => name)).toEqual(expect.arrayContaining(["one_runs", "Two_runs"]));
  });

  test.each([0, -1, 1.5, Number.NaN, "1 MiB"])("maxPayload %s is refused", async (maxPayload) => {
    await expectRefusal(() => make("sqlite::memory:", { maxPayload }), "INVALID_OPTION", "maxPayload");
  });

  test("with maxPayload limit the arguments of a dispatch", async () => {
    const { jobs } = open({ maxPayload: 20 });
    jobs.schedule("small", () => {});
    await jobs.dispatch("small", { a: "1234" });
    await expectRefusal(
      () => jobs.dispatch("small", { a: "1234567890abcdef" }),
      "PAYLOAD_TOO_LARGE",
      "24 bytes",
      "the limit is 20",
      "Pass a reference",
    );
  });

  test("with a clock use its time", async () => {
    const { jobs } = open({ clock: new TestClock("2030-05-06T07:08:09Z") });
    jobs.schedule("greet", () => {});
    const run = await jobs.dispatch("greet");
    expect((await jobs.find(run.id))?.createdAt).toEqual(new Date("2030-05-06T07:08:09Z"));
    expect((await jobs.status()).now).toEqual(new Date("2030-05-06T07:08:09Z"));
  });
});

describe("the end of an instance", () => {
  test("await using stops it", async () => {
    const jobs = new Punctual("sqlite::memory:", { logger: false });
    jobs.schedule("greet", () => {});
    await jobs.dispatch("greet");
    await jobs[Symbol.asyncDispose]();
    await expectRefusal(() => jobs.dispatch("greet"), "CLOSED", "stopped", "new Punctual()");
  });

  test("stop() twice is one stop, even before the first use", async () => {
    const jobs = new Punctual("sqlite::memory:", { logger: false });
    expect(jobs.stop()).toBe(jobs.stop());
    await jobs.stop();
  });

  test("rejects every later call", async () => {
    const one = open();
    const job = one.jobs.schedule("greet", () => {});
    const run = await job.dispatch();
    await stopped(one);
    const { jobs } = one;
    for (const work of [
      () => jobs.dispatch("greet"),
      () => job.dispatch(),
      () => job.dispatchMany([{}]),
      () => jobs.dispatch("ad hoc", () => {}),
      () => jobs.delay(5).dispatch("greet"),
      () => jobs.run(),
      () => jobs.forever(),
      () => jobs.install(),
      () => jobs.find(run.id),
      () => jobs.status(),
      () => run.cancel(),
      () => run.wait(),
    ]) {
      await expectRefusal(work, "CLOSED", "stopped");
    }
  });

  test("closes the file, so that another process can use it exclusively", async () => {
    const path = join(temporaryFolder(), "jobs.db");
    const one = open({}, `sqlite:${path}`);
    await works(one.jobs);
    await stopped(one);
    expect(existsSync(`${path}-wal`)).toBe(false);
  });
});
