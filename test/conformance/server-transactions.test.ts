import mysql from "mysql2/promise";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Punctual } from "../../src/index.ts";
import { mysqlParts } from "../../src/store/mysql/open.ts";
import { postgresParts } from "../../src/store/postgres/open.ts";
import type { ServerParts } from "../../src/store/server/parts.ts";
import type { Transaction } from "../../src/store/sql/database.ts";
import { TimeLimitedSql } from "../../src/store/sql/time-limit.ts";
import { systemClock } from "../../src/time.ts";
import { eventually } from "../support/eventually.ts";
import { fresh } from "./support/fresh.ts";
import { selected } from "./support/stores.ts";

const servers = selected.filter(({ name }) => name !== "sqlite");

if (servers.length === 0) test.todo("no server is selected");

const sources = ["its URL", "a pool of the caller's"] as const;

const combinations = servers.flatMap((database) => sources.map((source) => ({ database, source })));

describe.each(combinations)("transactions on $database.name, by $source", ({ database, source }) => {
  const at = fresh(database);
  let parts: ServerParts;
  let pool: pg.Pool | mysql.Pool | null = null;

  beforeEach(async () => {
    const isPostgres = database.name === "postgres";
    if (source !== "its URL") {
      pool = isPostgres ? new pg.Pool({ connectionString: at.url }) : mysql.createPool({ uri: at.url });
    }
    const options = { clock: systemClock, prefix: "punctual_" };
    parts = await (isPostgres ? postgresParts : mysqlParts)(pool ?? at.url, options);
    const charset = isPostgres ? "" : " character set utf8mb4";
    await at.sql(`create table words (id int primary key, word varchar(100) not null)${charset}`);
  });
  afterEach(async () => {
    await at.sql("drop table words");
    await parts.close();
    await pool?.end();
    pool = null;
  });

  const words = async () =>
    (await at.sql<{ word: string }>("select word from words order by id")).map((row) => row.word);

  test("statements that are not awaited run in order, before later ones", async () => {
    const seen = await parts.db.transaction(async (tx) => {
      await tx.run("insert into words (id, word) values (?, ?)", 1, "one; 'two' \\ \"?\" \n é 👋");
      await tx.run("insert into words (id, word) values (?, ?)", 2, "x".repeat(90));
      await tx.run("update words set word = 'changed' where id = ?", 2);
      const rows = await tx.all<{ word: string }>("select word from words order by id");
      await tx.run("insert into words (id, word) values (?, ?)", 3, "last");
      return rows.map(({ word }) => word);
    });
    expect(seen).toEqual(["one; 'two' \\ \"?\" \n é 👋", "changed"]);
    expect(await words()).toEqual([...seen, "last"]);
  });

  test("a read with a time limit is cancelled on the server, and the connection can be used again", async () => {
    const endless =
      "select count(*) as n from punctual_gates a, punctual_gates b, punctual_gates c, punctual_gates d";
    const { db } = parts;
    const limited = new TimeLimitedSql(db, { timeout: 300 });
    const running = async () => {
      const list =
        database.name === "postgres"
          ? "select query as text from pg_stat_activity where state = 'active'"
          : "select info as text from information_schema.processlist";
      const rows = await at.sql<{ text: string | null }>(list);
      return rows.filter(({ text }) => text?.includes("punctual_gates a,") && !text.includes("as text from"));
    };
    await expect(limited.all(`${endless} where a.id <> ?`, -1)).rejects.toMatchObject({
      code: "QUERY_TIMED_OUT",
    });
    // The server ends it on its own: no later than the next longer limit that its statement can have.
    await eventually("the server to end the statement", async () => (await running()).length === 0);
    await expect(limited.all("select 1 as one")).rejects.toMatchObject({ code: "QUERY_TIMED_OUT" });
    const again = new TimeLimitedSql(db, { timeout: 60_000 });
    expect(await again.all("select id from punctual_gates where id = ?", 3)).toEqual([{ id: 3 }]);
    expect(await db.all("select id from punctual_gates where id = ?", 3)).toEqual([{ id: 3 }]);
    const failing = again.all("select nothing from punctual_gates where id = ?", 3);
    await expect(failing).rejects.toMatchObject({ code: "DATABASE" });
  });

  test("a statement that was prepared before its table got a column is prepared again", async () => {
    await at.sql("insert into words (id, word) values (1, 'one')");
    const read = () =>
      Promise.all(
        // On several connections.
        Array.from({ length: 3 }, () =>
          parts.db.transaction(async (tx) => {
            await tx.all("select word from words where id <> ?", 0);
            return tx.all("select * from words where id = ?", 1);
          }),
        ).concat(parts.db.read("select * from words where id = ? and id <> ?", 1, 0)),
      );
    for (let times = 0; times < 5; times++) expect((await read())[0]).toEqual([{ id: 1, word: "one" }]);
    for (const column of ["a", "b"]) {
      await at.sql(`alter table words add column ${column} int`);
      for (let times = 0; times < 3; times++) {
        for (const rows of await read()) expect(rows).toMatchObject([{ id: 1, [column]: null }]);
      }
    }
  });

  test("a read that is repeated gets its parameters as they are", async () => {
    const all = ["it's", "\\", "\\' or true --", "a\\nb\n", "'; select 1; --", "$1 ? é 👋", "x".repeat(90)];
    for (const [id, word] of all.entries()) {
      await parts.db.run("insert into words (id, word) values (?, ?)", id, word);
    }
    for (let times = 0; times < 5; times++) {
      for (const [id, word] of all.entries()) {
        const read = "select id, word from words where word = ? and id between ? and ? order by id";
        expect(await parts.db.read(read, word, -1, 9)).toEqual([{ id, word }]);
      }
    }
  });

  test("queries that are sent together each get their own answer", async () => {
    const answers = await parts.db.transaction(async (tx) => {
      await tx.run("insert into words (id, word) values (?, 'a'), (?, 'b')", 1, 2);
      return Promise.all([
        tx.all<{ n: number }>("select count(*) as n from words"),
        tx.all<{ word: string }>("select word from words where id = ?", 2),
        tx.all("select word from words where id = ?", 9),
        tx.all<{ sum: number }>("select sum(id) as sum from words"),
      ]);
    });
    expect(answers).toEqual([[{ n: 2 }], [{ word: "b" }], [], [{ sum: 3 }]]);
  });

  test("an error of a statement that is not awaited rejects the next answer, and everything is rolled back", async () => {
    const after: string[] = [];
    const failing = parts.db.transaction(async (tx) => {
      await tx.run("insert into words (id, word) values (?, 'a')", 1);
      await tx.run("insert into no_such_table (id) values (?)", 1);
      await tx.run("insert into words (id, word) values (?, 'b')", 2);
      await tx.all("select 1 as one");
      after.push("went on");
    });
    await expect(failing).rejects.toThrow("no_such_table");
    expect(after).toEqual([]);
    expect(await words()).toEqual([]);
    await parts.db.transaction((tx) => tx.run("insert into words (id, word) values (?, 'c')", 3));
    expect(await words()).toEqual(["c"]);
  });

  test("a duplicate key does so too, and no later statement runs", async () => {
    const after: string[] = [];
    const failing = parts.db.transaction(async (tx) => {
      await tx.all("insert into words (id, word) values (?, 'a')", 1);
      // Too long to share a packet with other statements.
      await tx.run("insert into words (id, word) values (?, substr(?, 1, 1))", 1, "x".repeat(50_000));
      await tx.run("insert into words (id, word) values (?, 'b')", 2);
      await tx.all("select 1 as one");
      after.push("went on");
    });
    await expect(failing).rejects.toSatisfy((error) => parts.db.isIdTaken((error as Error).cause ?? error));
    expect(after).toEqual([]);
    expect(await words()).toEqual([]);
  });

  test("without a later statement, the error rejects the transaction", async () => {
    const failing = parts.db.transaction(async (tx) => {
      await tx.run("insert into words (id, word) values (?, 'a')", 1);
      await tx.run("insert into words (id, word) values (?, null)", 2);
      return "done";
    });
    await expect(failing).rejects.toThrow(/word/);
    expect(await words()).toEqual([]);
  });

  test("a statement after the end of its transaction is refused, whether it was committed or not", async () => {
    const late: Transaction[] = [];
    await parts.db.transaction(async (tx) => void late.push(tx));
    const failing = parts.db.transaction(async (tx) => {
      late.push(tx);
      await tx.run("insert into words (id, word) values (?, 'a')", 1);
      void tx.run("insert into words (id, word) values (?, 'b')", 2);
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    for (const tx of late) {
      await tx.run("insert into words (id, word) values (?, 'c')", 3);
      await expect(tx.all("insert into words (id, word) values (?, 'd')", 4)).rejects.toThrow("has ended");
    }
    await parts.db.transaction((tx) => tx.run("insert into words (id, word) values (?, 'e')", 5));
    expect(await words()).toEqual(["e"]);
  });

  test("a handler gets a connection of its driver, and its statements run in order with ours", async () => {
    const jobs = new Punctual(pool ?? at.url, { logger: false });
    const pipelines: unknown[] = [];
    const job = jobs.schedule("job", (_: object, run) =>
      run.transaction<pg.PoolClient & mysql.Connection>(async (tx) => {
        pipelines.push((tx as { pipeline?: boolean }).pipeline ?? false);
        await tx.query("insert into words (id, word) values (1, 'theirs')");
        await jobs.dispatch("job", {}, { delay: 60 }).within(tx);
        await tx.query("update words set word = 'changed' where id = 1");
      }),
    );
    await job.dispatch({});
    expect(await jobs.run()).toBe(1);
    expect(pipelines).toEqual([false]);
    expect(await words()).toEqual(["changed"]);
    expect((await jobs.runs()).runs.map(({ state }) => state).sort()).toEqual(["completed", "scheduled"]);
    await jobs.stop();
  });
});
