import { describe, expect, test } from "vitest";
import type {
  JsonText,
  LogsResponse,
  Page,
  Problem,
  RunDetail,
  RunLink,
} from "../../../src/dashboard/api/contract.ts";
import { heard, open } from "../../api/support/instance.ts";
import { serve } from "../support/api.ts";

const EXACT = '{"id":9223372036854775807,"big":[18446744073709551616,-0,1.10],"b":1,"a":2}';

describe("GET /runs/:id", () => {
  test("shows attempts, errors, lineage and neighbours of a failed run", async () => {
    const { jobs, clock } = open();
    jobs
      .define("mail", () => {
        throw new TypeError("no smtp://ana:geheim@host", { cause: new Error("?token=geheim") });
      })
      .attempts(2, 1)
      .timeout(30)
      .concurrency(0);
    jobs.define("parent", async () => {
      await jobs.dispatch("mail").unique("u");
    });
    const { viewer, operator, admin } = serve(jobs);
    const { id: parent } = await jobs.dispatch("parent");
    await jobs.run();
    await clock.advance(10);
    await jobs.run();
    const id = parent + 1;
    const { body: run } = await viewer.get<RunDetail>(`/runs/${id}`);
    expect(run).toMatchObject({
      id,
      state: "failed",
      attempt: 2,
      maxAttempts: 2,
      error: { name: "TypeError", message: "no smtp://ana:[hidden]@host" },
      failure: { name: "TypeError", cause: { message: "?token=[hidden]" } },
      alike: { value: 0, capped: false },
      args: { json: null, size: 0, truncated: false },
      parent: { id: parent, job: "parent", state: "completed" },
      rerunOf: null,
      uniqueKey: "u",
      timeout: 30_000,
      newer: null,
      older: null,
      actions: [],
      commands: {},
    });
    expect(JSON.stringify(run)).not.toContain("geheim");
    expect(run.why).toContain("It has ended: failed.");
    expect(run.attempts).toMatchObject([
      { attempt: 1, outcome: "retried", finishedAt: expect.any(String) },
      { attempt: 2, outcome: "failed", error: { name: "TypeError" } },
    ]);
    expect(run.failure!.frames[0]).toMatchObject({
      own: true,
      place: expect.stringContaining("run.test.ts"),
    });
    expect(run.recent.map((one) => one.id)).toEqual([id]);
    expect((await operator.get<RunDetail>(`/runs/${id}`)).body.actions).toEqual(["retry", "rerun"]);
    const { actions, commands } = (await admin.get<RunDetail>(`/runs/${id}`)).body;
    expect(actions).toEqual(["retry", "rerun", "delete"]);
    expect(commands).toEqual({
      retry: `punctual retry ${id}`,
      rerun: `punctual show ${id} --payload --raw | punctual dispatch mail -`,
      delete: `punctual delete ${id}`,
    });
    const { children } = (await viewer.get<RunDetail>(`/runs/${parent}`)).body;
    expect(children.items).toMatchObject([{ id, job: "mail", state: "failed" }]);
  });

  test("offers what the state of a run allows, and shows a running one", async () => {
    const { jobs, clock } = open();
    const { promise, resolve } = Promise.withResolvers<void>();
    jobs.define("it's", () => promise).concurrency(0);
    const { admin } = serve(jobs);
    const { id } = await jobs.dispatch("it's");
    const waiting = (await admin.get<RunDetail>(`/runs/${id}`)).body;
    expect(waiting.actions).toEqual(["cancel", "rerun", "delete"]);
    expect(waiting.commands.rerun).toBe(
      `punctual show ${id} --payload --raw | punctual dispatch 'it'\\''s' -`,
    );
    expect(waiting.attempts).toEqual([]);
    const pass = jobs.run();
    await heard(jobs, "run.started");
    await clock.advance(2);
    const running = (await admin.get<RunDetail>(`/runs/${id}`)).body;
    expect(running.actions).toEqual(["cancel", "forceCancel", "rerun"]);
    expect(running.attempts).toMatchObject([{ attempt: 1, outcome: "running", finishedAt: null }]);
    expect(running.worker).toMatch(/^.+:\d+$/);
    expect(running).toMatchObject({ took: 2000, leasedUntil: expect.any(String) });
    resolve();
    await pass;
    await clock.advance(2);
    const ended = (await admin.get<RunDetail>(`/runs/${id}`)).body;
    expect(ended.attempts).toMatchObject([{ attempt: 1, outcome: "completed" }]);
  });

  test("neighbours are runs of the same job", async () => {
    const { jobs } = open();
    const { viewer } = serve(jobs);
    jobs.define("mail", () => {}).concurrency(0);
    jobs.define("other", () => {}).concurrency(0);
    const ids: number[] = [];
    for (let n = 0; n < 40; n++) {
      ids.push((await jobs.dispatch("mail")).id);
      await jobs.dispatch("other");
    }
    for (const index of [0, 1, 20, 39]) {
      const { body } = await viewer.get<RunDetail>(`/runs/${ids[index]}`);
      expect([body.newer, body.older]).toEqual([ids[index + 1] ?? null, ids[index - 1] ?? null]);
    }
  });

  test.each(["0", "-1", "x", "1.5", "99999999999999999"])("refuses the id %s", async (id) => {
    const { status, body } = await serve(open().jobs).viewer.get<Problem>(`/runs/${id}`);
    expect(status).toBe(422);
    expect(body.detail).toContain("the id of a run as a whole number");
  });

  test("an unknown run is 404 on every route", async () => {
    const { viewer } = serve(open().jobs);
    for (const path of ["", "/logs", "/payload?part=args", "/children"]) {
      const { status, body } = await viewer.get<Problem>(`/runs/77${path}`);
      expect([status, body.code]).toEqual([404, "RUN_NOT_FOUND"]);
    }
  });
});

describe("payloads", () => {
  test("go out as they are stored, to the digit and in the order of their keys", async () => {
    const { jobs } = open();
    jobs.define("exact", () => {});
    const { viewer } = serve(jobs);
    const { id } = await jobs.dispatchJson("exact", EXACT);
    expect((await viewer.get<RunDetail>(`/runs/${id}`)).body.args).toEqual({
      json: EXACT,
      size: EXACT.length,
      truncated: false,
    });
    expect((await viewer.get<JsonText>(`/runs/${id}/payload?part=args`)).body.json).toBe(EXACT);
    expect((await viewer.get<JsonText>(`/runs/${id}/payload?part=result`)).body.json).toBeNull();
    expect((await viewer.get<Problem>(`/runs/${id}/payload?part=error`)).body.detail).toBe(
      'Expected part as one of args, result, progress, got "error".',
    );
  });

  test("hide secrets by the default names and by the patterns of the dashboard", async () => {
    const { jobs } = open();
    jobs.define("secret", (_args: unknown, run) => {
      run.progress({ pin: 1, at: "http://a:geheim@b" });
      run.log("to http://a:geheim@b", { pin: "geheim", keep: 1 });
      return { user: { pin: "geheim", token: "geheim" } };
    });
    const { viewer } = serve(jobs, { redact: ["*.pin", "$.list.*.x"] });
    const { id } = await jobs.dispatch("secret", { list: [{ x: "geheim", y: 2 }], x: 3, apiKey: "geheim" });
    await jobs.run();
    const { body } = await viewer.get<RunDetail>(`/runs/${id}`);
    const { lines } = (await viewer.get<LogsResponse>(`/runs/${id}/logs`)).body;
    expect(JSON.parse(body.args.json!)).toEqual({
      list: [{ x: "[hidden]", y: 2 }],
      x: 3,
      apiKey: "[hidden]",
    });
    expect(body.result.json).toBe('{"user":{"pin":"[hidden]","token":"[hidden]"}}');
    expect(lines).toMatchObject([{ message: "to http://a:[hidden]@b", data: '{"pin":"[hidden]","keep":1}' }]);
    const lists = [await viewer.get("/runs"), await viewer.get(`/runs/${id}/payload?part=progress`)];
    expect(JSON.stringify([body, lines, lists])).not.toContain("geheim");
  });

  test("are cut in the detail of a run, and whole on their own route", async () => {
    const { jobs } = open({ maxPayload: 6 * 1024 * 1024 });
    const long = `</script>\u001b[31m\u202e${"\u{1F600}x".repeat(800_000)}`;
    jobs.define("large", () => ({ long: long.slice(0, 400_000) }));
    const { viewer } = serve(jobs);
    const { id } = await jobs.dispatch("large", { long, password: "geheim" });
    await jobs.run();
    const { args, result, preview } = (await viewer.get<RunDetail>(`/runs/${id}`)).body;
    for (const part of [args, result]) {
      expect(part).toMatchObject({ truncated: true });
      expect(part.size).toBeGreaterThan(600_000);
      expect(part.json!.length).toBeLessThanOrEqual(65_536);
      expect(part.json!.isWellFormed()).toBe(true);
    }
    expect(preview.length).toBeLessThan(210);
    const whole = (await viewer.get<JsonText>(`/runs/${id}/payload?part=args`)).body;
    expect(JSON.parse(whole.json!)).toEqual({ long, password: "[hidden]" });
    expect(whole.truncated).toBe(false);
  });
});

describe("GET /runs/:id/logs and /children", () => {
  test("continue after a position, and before an id", async () => {
    const { jobs } = open();
    jobs.define("child", () => {}).concurrency(0);
    jobs.define("parent", async (_args: unknown, run) => {
      for (let n = 0; n < 5; n++) run.log(`line ${n}`);
      for (let n = 0; n < 25; n++) await jobs.dispatch("child");
    });
    const { viewer } = serve(jobs);
    const { id } = await jobs.dispatch("parent");
    await jobs.run();
    const first = (await viewer.get<LogsResponse>(`/runs/${id}/logs?limit=2`)).body;
    expect([first.total, first.lines.map(({ message }) => message)]).toEqual([5, ["line 0", "line 1"]]);
    const after = first.lines.at(-1)!.position;
    const rest = (await viewer.get<LogsResponse>(`/runs/${id}/logs?after=${after}`)).body;
    expect(rest.lines.map(({ message }) => message)).toEqual(["line 2", "line 3", "line 4"]);
    const page = (await viewer.get<Page<RunLink>>(`/runs/${id}/children`)).body;
    expect(page.items).toHaveLength(20);
    const last = (await viewer.get<Page<RunLink>>(`/runs/${id}/children?before=${page.next}`)).body;
    expect(last).toMatchObject({ next: null, items: { length: 5 } });
  });
});
