import { describe, expect, test } from "vitest";
import type { RunCondition, RunSearch, TextMatch } from "../../../src/store/search.ts";
import { fresh } from "../support/fresh.ts";
import {
  beat,
  claim,
  claimOne,
  define,
  finish,
  ids,
  insert,
  insertOne,
  settle,
  times,
} from "../support/requests.ts";
import type { Database } from "../support/stores.ts";

const is = (...texts: string[]): TextMatch[] => texts.map((text) => ({ is: text }));
const like = (...pieces: string[]): TextMatch[] => [{ like: pieces }];
const failure = (name: string, message: string) =>
  JSON.stringify({ name, message, stack: `${name}: somewhere`, code: null, cause: null });

export function searching(database: Database): void {
  describe("search", () => {
    const at = fresh(database);
    const found = async (where: RunCondition | RunCondition[], more: Partial<RunSearch> = {}) =>
      ids((await at.store.search({ where: [where].flat(), limit: 100, ...more })).runs);
    const payload = (path: string[], any: TextMatch[], not = false) =>
      found({ field: "payload", path, any, not });

    test("a condition without values matches nothing, and its negation everything", async () => {
      const id = await insertOne(at.store);
      expect(await found({ field: "job", any: [] })).toEqual([]);
      expect(await found({ field: "job", any: [], not: true })).toEqual([id]);
    });

    test("by name, part of a name, several names, or none of them", async () => {
      const [mail, sms, bulk] = await insert(
        at.store,
        { name: "send-mail" },
        { name: "send-sms" },
        { name: "bulk" },
      );
      const done = await finish(at.store, "completed", { name: "Send-mail", priority: 1 });
      expect(await found({ field: "job", any: is("send-mail", "bulk") })).toEqual([bulk, mail]);
      expect(await found({ field: "job", any: like("send-", "") })).toEqual([sms, mail]);
      expect(await found({ field: "job", any: like("", "mail") })).toEqual([done, mail]);
      expect(await found({ field: "job", any: like("s", "d", "s", "") })).toEqual([sms]);
      expect(await found({ field: "job", any: like("", "") })).toEqual([done, bulk, sms, mail]);
      expect(await found({ field: "job", any: [...is("bulk"), ...like("send-", "")], not: true })).toEqual([
        done,
      ]);
    });

    test.each([
      "%",
      "_",
      "a%c",
      "a_c",
      "a!c",
      "a?c",
      "[a-c]",
      "a[b",
      "a\\c",
      "a'c",
      'a"c',
      "a*c",
      "$1",
      "é",
      "🕰️",
      "ÄÖ",
      "?",
    ])("takes %s literally, alone and in a pattern", async (text) => {
      const others = ["abc", "aXc", "A", "a", "x", "e", "Äö", "[A-C]", "a\\\\c"].filter(
        (one) => one !== text,
      );
      const args = (value: string) => JSON.stringify({ v: value });
      const [id, longer] = await insert(
        at.store,
        { name: text, queue: text, key: text, batchId: text, tags: [text], args: args(text) },
        {
          name: `<${text}>`,
          queue: `<${text}>`,
          key: `<${text}>`,
          batchId: `<${text}>`,
          args: args(`<${text}>`),
        },
        ...others.map((one) => ({
          name: one,
          queue: one,
          key: one,
          batchId: one,
          tags: [one],
          args: args(one),
        })),
      );
      for (const field of ["job", "queue", "key", "batch"] as const) {
        expect(await found({ field, any: is(text) })).toEqual([id]);
        expect(await found({ field, any: like("", text, "") })).toEqual([longer, id]);
        expect(await found({ field, any: like("<", `${text}>`) })).toEqual([longer]);
      }
      expect(await found({ field: "tag", any: is(text) })).toEqual([id]);
      expect(await payload(["v"], is(text))).toEqual([id]);
      expect(await payload(["v"], like("", text, ""))).toEqual([longer, id]);
    });

    test("a negation includes runs without the value", async () => {
      const [with_, other, none] = await insert(
        at.store,
        { batchId: "b", key: "k", tags: ["t"], parentId: 7, args: '{"v":1}' },
        { batchId: "c", key: "l", tags: ["u"], parentId: 8, args: '{"v":2}' },
        {},
      );
      const not = true;
      for (const condition of [
        { field: "batch", any: is("b"), not },
        { field: "key", any: is("k"), not },
        { field: "tag", any: is("t"), not },
        { field: "worker", any: is("w1"), not, with_: true },
        { field: "parent", any: [{ op: "=", value: 7 }], not },
        { field: "payload", path: ["v"], any: is("1"), not },
      ] as (RunCondition & { with_?: boolean })[]) {
        const expected = condition.with_ ? [none, other, with_] : [none, other];
        expect(await found(condition)).toEqual(expected);
      }
    });

    test("by state, and by the states that several conditions leave", async () => {
      const failed = await finish(at.store, "failed");
      const completed = await finish(at.store, "completed");
      const [ready, scheduled] = await insert(at.store, {}, { delay: 1000 });
      expect(await found({ field: "state", any: ["failed", "ready"] })).toEqual([ready, failed]);
      expect(await found({ field: "state", any: ["failed", "ready"], not: true })).toEqual([
        scheduled,
        completed,
      ]);
      const both: RunCondition[] = [
        { field: "state", any: ["failed", "ready"] },
        { field: "state", any: ["ready"], not: true },
      ];
      expect(await found(both)).toEqual([failed]);
      expect(await found([...both, { field: "state", any: ["completed"] }])).toEqual([]);
    });

    test("by comparisons of id and parent", async () => {
      const [a, b, c] = await insert(at.store, { parentId: 10 }, { parentId: 20 }, {});
      const id = (op: "=" | "<" | "<=" | ">" | ">=", value: number) =>
        found({ field: "id", any: [{ op, value }] });
      expect(await id("=", b!)).toEqual([b]);
      expect(await id("<", b!)).toEqual([a]);
      expect(await id("<=", b!)).toEqual([b, a]);
      expect(await id(">", b!)).toEqual([c]);
      expect(await id(">=", b!)).toEqual([c, b]);
      expect(await id("=", 999_999_999_999_999)).toEqual([]);
      expect(await found({ field: "parent", any: [{ op: ">", value: 10 }] })).toEqual([b]);
    });

    test("by attempts, duration and waiting time", async () => {
      const [quick, slow, young] = await insert(at.store, {}, {}, { delay: 60_000 });
      await at.clock.advance(10);
      const [first] = await claim(at.store, { limit: 1 });
      await settle(at.store, first!, "retried");
      const [again, other] = await claim(at.store, { limit: 2 });
      const runs = [again!, other!].sort((x, y) => x.id - y.id);
      await settle(at.store, runs[0]!, "completed");
      await at.clock.advance(30);
      const took = (op: "<" | ">", value: number) => found({ field: "took", any: [{ op, value }] });
      expect(await took(">", 20_000)).toEqual([slow]);
      expect(await took("<", 20_000)).toEqual([quick]);
      await settle(at.store, runs[1]!, "completed", { duration: 30_000 });
      expect(await took(">", 29_999)).toEqual([slow]);
      expect(await found({ field: "attempt", any: [{ op: ">=", value: 2 }] })).toEqual([quick]);
      expect(await found({ field: "attempt", any: [{ op: ">=", value: 999_999_999_999_999 }] })).toEqual([]);
      const waited = (value: number) => found({ field: "waited", any: [{ op: ">=", value }] });
      expect(await waited(10_000)).toEqual([slow]);
      expect(await waited(0)).toEqual([slow, quick]);
      await at.clock.advance(30);
      expect(await waited(10_000)).toEqual([young, slow]);
    });

    test("by time: when it finished, or else was dispatched", async () => {
      const start = at.clock.now();
      const early = await insertOne(at.store);
      await at.clock.advance(100);
      const late = await insertOne(at.store, { delay: 999_000 });
      await settle(at.store, await claimOne(at.store), "failed", { error: "why" });
      const old = await insertOne(at.store, { delay: 999_000 });
      const from = start + 50_000;
      expect(await found({ field: "at", from })).toEqual([old, late, early]);
      expect(await found({ field: "at", to: from })).toEqual([]);
      expect(await found({ field: "at", from: start + 100_000, to: start + 100_000 })).toEqual([]);
      expect(await found({ field: "at", from: start + 100_001 })).toEqual([]);
      expect(await found({ field: "finished", from: start + 100_001 })).toEqual([old, late]);
      expect(await found({ field: "at", from, not: true })).toEqual([]);
    });

    test("by late, retrying and cancelling", async () => {
      await finish(at.store, "failed");
      const [late, cancelled, tried] = await insert(at.store, {}, { priority: 1 }, { priority: 2 });
      const [running, failing] = await claim(at.store, { limit: 2 });
      await at.store.cancel(running!.id, null);
      await settle(at.store, failing!, "retried", { delay: 60_000 });
      await at.clock.advance("5.001s");
      await insert(at.store, {}, { delay: 1000 });
      expect(await found({ field: "aspect", any: ["late"] })).toEqual([late]);
      expect(await found({ field: "aspect", any: ["retrying"] })).toEqual([tried]);
      expect(await found({ field: "aspect", any: ["cancelling"] })).toEqual([cancelled]);
      expect(await found({ field: "aspect", any: ["late", "cancelling"] })).toEqual([cancelled, late]);
      expect(await found({ field: "aspect", any: ["late"], not: true })).toHaveLength(5);
    });

    test("by the message and type of the error; of a waiting run by its last error", async () => {
      const error = failure("SmtpError", 'connect "ETIMEDOUT" 10%_\\ é\nsecond line');
      const failed = await finish(at.store, "failed", {}, { error });
      const plain = await finish(at.store, "failed", {}, { error: "connect to nobody" });
      await finish(at.store, "completed");
      const retried = await insertOne(at.store);
      for (const text of [failure("Error", "first"), failure("DnsError", "ETIMEDOUT again")]) {
        await settle(at.store, await claimOne(at.store), "retried", { error: text });
      }
      const error_ = (...pieces: string[]) => found({ field: "error", any: like("", ...pieces, "") });
      expect(await error_("ETIMEDOUT")).toEqual([retried, failed]);
      expect(await error_("etimedout")).toEqual([]);
      expect(await error_("connect")).toEqual([plain, failed]);
      expect(await error_('"ETIMEDOUT" 10%_\\ é\nsecond')).toEqual([failed]);
      expect(await error_("first")).toEqual([]);
      expect(await error_("somewhere")).toEqual([]);
      expect(await error_("connect", "é")).toEqual([failed]);
      expect(await found({ field: "errortype", any: is("SmtpError", "DnsError") })).toEqual([
        retried,
        failed,
      ]);
      expect(await found({ field: "errortype", any: is("Error") })).toEqual([plain]);
      expect(await found({ field: "errortype", any: like("Smtp", "") })).toEqual([failed]);
    });

    test("by worker: its id, its host, or its host and process", async () => {
      await beat(at.store, "w1", { host: "web-1", pid: 11 });
      await beat(at.store, "w2", { host: "web-2", pid: 22 });
      await insert(at.store, {}, {});
      const [mine] = await claim(at.store, { worker: "w1", limit: 1 });
      const [theirs] = await claim(at.store, { worker: "w2", limit: 1 });
      await settle(at.store, theirs!, "completed");
      const worker = (match: TextMatch[]) => found({ field: "worker", any: match });
      for (const text of ["w1", "web-1", "web-1:11"]) expect(await worker(is(text))).toEqual([mine!.id]);
      for (const text of ["web-2", "web-2:22"]) expect(await worker(is(text))).toEqual([theirs!.id]);
      expect(await worker(like("web-", ""))).toHaveLength(2);
      expect(await worker(is("web"))).toEqual([]);
    });

    test("by schedule: its id, or its job", async () => {
      const schedule = {
        slot: "",
        cron: "0 * * * * *",
        timezone: "UTC",
        args: null,
        queue: null,
        fingerprint: "1",
        next: (after: number) => after + 60_000,
      };
      await define(at.store, [{ name: "nightly", schedules: [schedule] }, { name: "other" }]);
      const { id } = (await at.store.schedules())[0]!;
      const by = (any: (TextMatch | { id: number })[]) => found({ field: "schedule", any });
      const [ticked] = await insert(at.store, { name: "nightly" }, { name: "nightly" });
      await at.sql("update punctual_runs set schedule = ?, tick_at = 1 where id = ?", id, ticked!);
      expect(await by([{ id }])).toEqual([ticked]);
      expect(await by(is("nightly"))).toEqual([ticked]);
      expect(await by(like("", ""))).toEqual([ticked]);
      expect(await by([{ id: id + 1 }, { is: "other" }])).toEqual([]);
    });

    test("by free text: the job, the error, the id", async () => {
      const [mail, other] = await insert(at.store, { name: "send-mail" }, { name: "other" });
      const failed = await finish(
        at.store,
        "failed",
        { priority: 1 },
        { error: failure("E", "mail refused") },
      );
      const text = (...pieces: string[]) => found({ field: "text", pieces });
      expect(await text("mail")).toEqual([failed, mail]);
      expect(await text("mail", "refused")).toEqual([failed]);
      expect(await text(String(other))).toEqual([other]);
      expect(await text("nothing")).toEqual([]);
      expect(await found({ field: "text", pieces: ["mail"], not: true })).toEqual([other]);
    });

    test("redacted: a text in which a URL may have a secret matches nothing", async () => {
      const texts = [
        "no smtp://ana:geheim@host",
        "HTTPS://geheim@host",
        "/x?A=1&API_KEY=geheim",
        "x;PassWord=geheim",
        "/x?page=geheim",
        "Unexpected token geheim =",
      ];
      const failed: number[] = [];
      for (const message of texts) {
        const args = JSON.stringify({ v: message });
        failed.push(
          await finish(at.store, "failed", { name: "geheim-job", args }, { error: failure("E", message) }),
        );
      }
      const [, , , , page, token] = failed;
      for (const condition of [
        { field: "error", any: like("", "geheim", "") },
        { field: "payload", path: ["v"], any: like("", "geheim", "") },
      ] satisfies RunCondition[]) {
        expect(await found(condition)).toEqual(failed.toReversed());
        expect(await found({ ...condition, redacted: true })).toEqual([token, page]);
        expect(await found({ ...condition, redacted: true, not: true })).toEqual(
          failed.slice(0, 4).toReversed(),
        );
      }
      const text = (...pieces: string[]) => found({ field: "text", pieces, redacted: true });
      expect(await text("geheim-job")).toEqual(failed.toReversed());
      expect(await text("ana:geheim")).toEqual([]);
      expect(await text("page=geheim")).toEqual([page]);
    });
  });

  describe("search in payloads", () => {
    const at = fresh(database);
    const found = async (path: string[], ...any: TextMatch[]) =>
      ids((await at.store.search({ where: [{ field: "payload", path, any }], limit: 100 })).runs);
    const put = async (...values: unknown[]) =>
      insert(at.store, ...values.map((value) => ({ args: JSON.stringify(value) })));

    test("accepts as many numbers in a path, and as many values, as a query may have", async () => {
      const [lists, mixed] = await put([[[[7]]]], { 0: [{ 0: { 0: 7 } }] }, [[[7]]], { 0: 7 }, [7]);
      const many = times(99, (n) => ({ is: `no ${n}` }));
      expect(await found(["0", "0", "0", "0"], ...many, { is: "7" })).toEqual([mixed, lists]);
    });

    test("does not take a number with a sign for an index", async () => {
      const [named] = await put({ v: { "+1": "x" } }, { v: ["x", "x", "x"] });
      expect(await found(["v", "-1"], ...is("x"))).toEqual([]);
      expect(await found(["v", "+1"], ...is("x"))).toEqual([named]);
    });

    test("finds values of every kind, as JSON writes them", async () => {
      const values = [
        "text",
        "",
        "4711",
        4711,
        4711.5,
        -1,
        0,
        1e21,
        1e-7,
        true,
        false,
        null,
        ["text"],
        { text: 1 },
      ];
      const put_ = await put(...values.map((v) => ({ v })), {}, [], "text", 4711, null);
      const of = (...wanted: number[]) => wanted.map((n) => put_[n]!).reverse();
      expect(await found(["v"], ...is("text"))).toEqual(of(0));
      expect(await found(["v"], ...is(""))).toEqual(of(1));
      expect(await found(["v"], ...is("4711"))).toEqual(of(2, 3));
      expect(await found(["v"], ...is("4711.5", "-1", "0"))).toEqual(of(4, 5, 6));
      expect(await found(["v"], ...is("1e+21", "1e21"))).toEqual(of(7));
      expect(await found(["v"], ...is("1e-7", "0.0000001"))).toEqual(of(8));
      expect(await found(["v"], ...is("true"))).toEqual(of(9));
      expect(await found(["v"], ...is("false", "null"))).toEqual(of(10, 11));
      expect(await found(["v"], ...like("4711", ""))).toEqual(of(2, 3, 4));
      expect(await found(["v"], ...like("", ""))).toHaveLength(12);
      expect(await found(["w"], ...like("", ""))).toEqual([]);
    });

    test("finds numbers beyond the precision of JavaScript, to the last digit", async () => {
      const [exact] = await insert(
        at.store,
        { args: '{"id":9007199254740993}' },
        { args: '{"id":9007199254740992}' },
        { args: '{"id":9223372036854775806}' },
      );
      expect(await found(["id"], ...is("9007199254740993"))).toEqual([exact]);
      expect(await found(["id"], ...is("9223372036854775807"))).toEqual([]);
      expect(await found(["id"], ...is("9223372036854775806"))).toHaveLength(1);
    });

    test("finds values deep within objects and lists; a number is an index or a name", async () => {
      const [list, object, deep] = await put(
        { items: [{ sku: "a" }, { sku: "b" }] },
        { items: { 1: { sku: "b" } } },
        { items: [[["x"]]] },
        [{ items: 1 }],
      );
      expect(await found(["items", "1", "sku"], ...is("b"))).toEqual([object, list]);
      expect(await found(["items", "0", "sku"], ...is("a"))).toEqual([list]);
      expect(await found(["items", "0", "0", "0"], ...is("x"))).toEqual([deep]);
      expect(await found(["items", "sku"], ...is("a"))).toEqual([]);
      expect(await found(["0", "items"], ...is("1"))).toHaveLength(1);
    });

    test.each([
      "a b",
      "a.b",
      'a"b',
      "a\\b",
      "a'b",
      "$",
      "$.x",
      "[0]",
      "*",
      "**",
      "?",
      "é",
      "🕰️",
      "a\nb",
      "a-1",
      "#-1",
    ])("finds the name %j, and no other", async (name) => {
      const [id] = await put(
        { [name]: { [name]: "found" } },
        { a: { b: "found" }, x: "found", other: { c: "found" } },
      );
      expect(await found([name, name], ...is("found"))).toEqual([id]);
      expect(await found([name], ...like("", ""))).toEqual([]);
    });

    test("skips arguments that a database cannot read as JSON", async () => {
      const half = '{"v":"\\ud800 half","w":"here"}';
      const nul = '{"v":"\\u0000","w":"here"}';
      const escaped = '{"v":"\\\\u0000","w":"here"}';
      const [fine, , , slash] = await insert(
        at.store,
        { args: '{"v":"x","w":"here"}' },
        { args: half },
        { args: nul },
        { args: escaped },
        { args: "not JSON at all" },
        { args: null },
      );
      const here = await found(["w"], ...is("here"));
      expect(here).toContain(fine);
      expect(here).toContain(slash);
      expect(await found(["v"], ...is("\\u0000"))).toEqual([slash]);
      expect(await found(["v"], ...is("x"))).toEqual([fine]);
    });
  });

  describe("counting, and searching among many runs", () => {
    const at = fresh(database, "once");
    const COLUMNS =
      "id, name, queue, lane, limited, priority, run_at, state, args, attempts, crashes, created_at";

    /** "rare" runs are far from each other, and some are at the end of a search window. */
    async function fill(table: "runs" | "history", count: number, state: number): Promise<void> {
      const finished = table === "history" ? ", finished_at" : "";
      const now = at.clock.now();
      await at.sql(
        `insert into punctual_${table} (${COLUMNS}${finished})
         select s.n, case when s.n % 30000 = 0 or s.n in (149001, 149000, 139001, 139000) then 'rare' else 'many' end, 'default', 'many', 0, 100, ${now}, ${state}, '{"v":1}', 1, 0, ${now}${finished && `, ${now}`}
           from ${at.series(count)} s`,
      );
    }

    test("counts up to a bound", async () => {
      await insert(at.store, ...times(7, () => ({ name: "a" })), ...times(3, () => ({ name: "b" })));
      await finish(at.store, "completed", { name: "a", priority: 1 });
      const count = (cap: number) => at.store.count([{ field: "job", any: is("a") }], cap);
      expect(await count(10)).toEqual({ count: 8, capped: false });
      expect(await count(8)).toEqual({ count: 8, capped: false });
      expect(await count(7)).toEqual({ count: 7, capped: true });
      expect(await at.store.count([], 100)).toEqual({ count: 11, capped: false });
    });

    test("searches 150,000 finished runs in windows, each run once, without gaps", async () => {
      await fill("history", 150_000, 4);
      const rare: RunCondition[] = [
        { field: "payload", path: ["v"], any: is("1") },
        { field: "job", any: like("rar", "") },
      ];
      const seen: number[] = [];
      let pages = 0;
      for (let before: number | null | undefined; before !== null; pages++) {
        const page = await at.store.search({ where: rare, limit: 4, ...(before && { before }) });
        seen.push(...ids(page.runs));
        before = page.next;
      }
      expect(seen).toEqual([150_000, 149_001, 149_000, 139_001, 139_000, 120_000, 90_000, 60_000, 30_000]);
      expect(pages).toBeGreaterThan(2);
      const nothing: RunCondition[] = [{ field: "job", any: like("nobody", "") }];
      const first = await at.store.search({ where: nothing, limit: 10 });
      expect(first.runs).toEqual([]);
      expect(first.next).toBeGreaterThan(0);
      expect(await at.store.search({ where: nothing, limit: 10, before: first.next! })).toEqual({
        runs: [],
        next: null,
      });
      expect(await at.store.count(nothing, 10)).toEqual({ count: 0, capped: true });
      expect(await at.store.count([{ field: "job", any: is("rare") }], 10)).toEqual({
        count: 9,
        capped: false,
      });
      expect(await at.store.count([], 10_000)).toEqual({ count: 10_000, capped: true });
    });

    test("finds runs among 100,000 by an index, without reading the others", async () => {
      await fill("history", 100_000, 3);
      await at.sql("update punctual_history set state = 4 where id in (5, 50000)");
      await at.sql("update punctual_history set name = 'seldom' where id in (7, 70000)");
      const [first] = await insert(at.store, { name: "running", priority: 1 });
      await claim(at.store, { limit: 1 });
      const plans = await at.plans(async (store) => {
        const search = async (where: RunCondition) =>
          ids((await store.search({ where: [where], limit: 5 })).runs);
        expect(await search({ field: "state", any: ["failed"] })).toEqual([50_000, 5]);
        expect(await search({ field: "job", any: is("seldom") })).toEqual([70_000, 7]);
        expect(await search({ field: "state", any: ["running"] })).toEqual([first]);
        expect(await search({ field: "id", any: [{ op: "=", value: 77 }] })).toEqual([77]);
      });
      expect(plans.length).toBeGreaterThan(4);
      // The only unfinished one. Failed runs have their own index, and few runs run at once.
      const small = /history_failed|TEMP B-TREE/;
      const grown = plans.filter(
        ({ statement, faults }) =>
          !statement.includes("punctual_runs r") && faults.some((fault) => !small.test(fault)),
      );
      expect(grown).toEqual([]);
    });
  });
}
