import { describe, expect, test } from "vitest";
import type {
  ActionResult,
  AuditEntry,
  DispatchResult,
  FailuresResponse,
  JobView,
  Overview,
  Page,
  Problem,
  RunDetail,
  WorkerView,
} from "../../../src/dashboard/api/contract.ts";
import { heard, open, stopped } from "../../api/support/instance.ts";
import { type Client, serve } from "../support/api.ts";

async function entries(client: Client) {
  const { items } = (await client.get<Page<AuditEntry>>("/audit")).body;
  return items.map(({ action, target, details, user, role, source }) => {
    const found = details === null ? null : JSON.parse(details);
    expect([user, source]).toEqual(["ana", "dashboard"]);
    return [action, target, role, found];
  });
}

function scene() {
  const one = open();
  one.jobs.define("mail/now. x", () => {}).concurrency(0);
  one.jobs
    .define("nightly", () => {})
    .daily()
    .args({ n: 1 });
  return { ...one, ...serve(one.jobs) };
}

const MAIL = encodeURIComponent("mail/now. x");

describe("actions on a run", () => {
  test("retry, cancel, rerun and delete change the run and are recorded", async () => {
    const { jobs, operator, admin } = scene();
    const { id } = await jobs.dispatch("mail/now. x", { a: 1 });
    expect((await operator.post<ActionResult>(`/runs/${id}/cancel`)).body.message).toBe(
      `Run ${id} was cancelled.`,
    );
    expect((await operator.post<ActionResult>(`/runs/${id}/retry`)).status).toBe(200);
    expect(await jobs.state(id)).toBe("ready");
    const again = await operator.post<DispatchResult>(`/runs/${id}/rerun`);
    expect([again.status, again.body]).toEqual([201, { id: id + 1, created: true }]);
    expect((await admin.delete<ActionResult>(`/runs/${id}`)).body.message).toBe(`Run ${id} was deleted.`);
    expect(await jobs.find(id)).toBeNull();
    expect(await entries(admin)).toEqual([
      ["run.delete", `run ${id}`, "admin", { job: "mail/now. x", state: "ready" }],
      ["run.rerun", `run ${id}`, "operator", { run: id + 1, edited: false }],
      ["run.retry", `run ${id}`, "operator", null],
      ["run.cancel", `run ${id}`, "operator", { effect: "cancelled", force: false }],
    ]);
  });

  test("an action that the state forbids is a conflict and leaves no entry", async () => {
    const { jobs, operator, admin } = scene();
    const { id } = await jobs.dispatch("mail/now. x");
    const refused = await operator.post<Problem>(`/runs/${id}/retry`);
    expect([refused.status, refused.body.code]).toEqual([409, "RUN_CLAIMED"]);
    await jobs.run();
    for (const path of ["cancel", "cancel"]) {
      const { status, body } = await operator.post<Problem>(`/runs/${id}/${path}`);
      expect([status, body.code]).toEqual([409, "RUN_FINISHED"]);
    }
    const { id: other } = await jobs.dispatch("mail/now. x");
    await jobs.cancel(other);
    const { status, body } = await operator.post<Problem>(`/runs/${other}/cancel`);
    expect([status, body.code]).toEqual([409, "RUN_FINISHED"]);
    expect((await operator.post<Problem>("/runs/999/retry")).status).toBe(404);
    expect(await entries(admin)).toEqual([]);
  });

  test("a running run is asked to cancel, or ends at once", async () => {
    const { jobs, operator } = scene();
    const { promise, resolve } = Promise.withResolvers<void>();
    jobs.define("long", () => promise);
    const { id } = await jobs.dispatch("long");
    const pass = jobs.run();
    await heard(jobs, "run.started");
    const { body } = await operator.post<ActionResult>(`/runs/${id}/cancel`);
    expect(body.message).toBe(`Run ${id} was asked to cancel: its handler decides when it ends.`);
    expect((await operator.post<ActionResult>(`/runs/${id}/cancel`, { force: true })).body.message).toBe(
      `Run ${id} was cancelled.`,
    );
    resolve();
    await pass;
  });

  test("edited arguments keep their digits, and need an admin", async () => {
    const { jobs, operator, admin, viewer } = scene();
    const { id } = await jobs.dispatch("mail/now. x", { a: 1 });
    const args = '{"a":9223372036854775807}';
    const refused = await operator.post<Problem>(`/runs/${id}/rerun`, { args });
    expect([refused.status, refused.body.code]).toEqual([403, "ROLE_TOO_LOW"]);
    const { body } = await admin.post<DispatchResult>(`/runs/${id}/rerun`, { args });
    const run = (await viewer.get<RunDetail>(`/runs/${body.id}`)).body;
    expect(run.args.json).toBe(args);
    expect(run.rerunOf).toMatchObject({ id });
    expect((await admin.post<Problem>(`/runs/${id}/rerun`, { args: "{a" })).body.code).toBe(
      "INVALID_PAYLOAD",
    );
  });
});

describe("POST /jobs/:name/dispatch", () => {
  test("dispatches with JSON text or a value, and every option", async () => {
    const { jobs, operator, admin } = scene();
    const options = { queue: "q", priority: 3, key: "k", delay: "1h", tags: ["t"], unique: "u" };
    const { status, body } = await operator.post<DispatchResult>(`/jobs/${MAIL}/dispatch`, {
      args: '{"n":1.0}',
      ...options,
    });
    expect([status, body.created]).toEqual([201, true]);
    expect(await jobs.storedRun(body.id)).toMatchObject({
      args: '{"n":1.0}',
      queue: "q",
      priority: 3,
      key: "k",
      tags: ["t"],
      uniqueKey: "u",
      state: "scheduled",
    });
    const held = await operator.post<DispatchResult>(`/jobs/${MAIL}/dispatch`, { value: [1], unique: "u" });
    expect([held.status, held.body]).toEqual([200, { id: body.id, created: false }]);
    expect(await entries(admin)).toEqual([
      ["job.dispatch", "mail/now. x", "operator", { run: body.id, created: true }],
    ]);
  });

  test.each([
    [{ args: "1", value: 1 }, "args (JSON text) or value (any JSON), got both", "INVALID_REQUEST"],
    [{ delay: 1, at: "2027-01-01" }, "delay or at, got both", "INVALID_REQUEST"],
    [{ priorty: 1 }, 'got the unknown key "priorty"', "INVALID_REQUEST"],
    [{ tags: "a" }, "tags as a list of texts", "INVALID_REQUEST"],
    [[], "the body to be a JSON object", "INVALID_REQUEST"],
    [{ delay: "soon" }, "Expected a delay", "INVALID_DURATION"],
    [{ args: "{" }, "JSON", "INVALID_PAYLOAD"],
  ])("refuses %j", async (body, detail, code) => {
    const answer = await scene().operator.post<Problem>(`/jobs/${MAIL}/dispatch`, body);
    expect([answer.status, answer.body.code]).toEqual([422, code]);
    expect(answer.body.detail).toContain(detail);
  });

  test("an unknown job is 404", async () => {
    const { status, body } = await scene().operator.post<Problem>("/jobs/nothing/dispatch");
    expect([status, body.code]).toEqual([404, "UNKNOWN_JOB"]);
  });
});

describe("pauses", () => {
  test("of jobs, queues and schedules have a name and a reason, and end", async () => {
    const { jobs, clock, operator, admin, viewer } = scene();
    const work = jobs.forever();
    await heard(jobs, "worker.started");
    const id = (await jobs.schedules())[0]!.id;
    await operator.post(`/jobs/${MAIL}/pause`, { reason: "broken" });
    await operator.post("/queues/my%20queue/pause", { reason: "later", for: "1h" });
    await operator.post(`/schedules/${id}/pause`);
    await clock.advance(2);
    expect((await viewer.get(`/jobs/${MAIL}`)).body).toMatchObject({
      pause: { by: "ana", reason: "broken" },
    });
    expect((await viewer.get("/queues/my%20queue")).body).toMatchObject({
      pause: { by: "ana", reason: "later", until: expect.any(String) },
    });
    expect((await viewer.get(`/schedules/${id}`)).body).toMatchObject({
      state: "paused",
      pause: { by: "ana" },
    });
    for (const path of [`jobs/${MAIL}`, "queues/my%20queue", `schedules/${id}`])
      expect((await operator.post<ActionResult>(`/${path}/resume`)).status).toBe(200);
    expect((await viewer.get(`/jobs/${MAIL}`)).body).toMatchObject({ pause: null });
    expect((await entries(admin)).map(([action]) => action)).toEqual([
      "schedule.resume",
      "queue.resume",
      "job.resume",
      "schedule.pause",
      "queue.pause",
      "job.pause",
    ]);
    const refused = await operator.post<Problem>(`/jobs/${MAIL}/pause`, { for: "1h" });
    expect(refused.body.detail).toContain("only queues resume by themselves");
    await stopped({ jobs, clock });
    await work;
  });

  test("a schedule runs now, with its arguments", async () => {
    const { jobs, clock, operator, admin } = scene();
    const work = jobs.forever({ queues: ["none"] });
    await heard(jobs, "worker.started");
    const id = (await jobs.schedules())[0]!.id;
    const { status, body } = await operator.post<DispatchResult>(`/schedules/${id}/run`);
    expect(status).toBe(201);
    expect(await jobs.storedRun(body.id)).toMatchObject({ name: "nightly", args: '{"n":1}' });
    expect(await entries(admin)).toEqual([
      ["schedule.run", `schedule ${id}`, "operator", { run: body.id, job: "nightly" }],
    ]);
    expect((await operator.post("/schedules/999/run")).status).toBe(404);
    await stopped({ jobs, clock });
    await work;
  });
});

describe("POST /failures/:fingerprint/mute", () => {
  const failed = async () => {
    const made = scene();
    made.jobs.define("broken", () => {
      throw new Error("connect ETIMEDOUT");
    });
    await made.jobs.dispatch("broken");
    await made.jobs.run();
    const { body } = await made.viewer.get<FailuresResponse>("/failures");
    return { ...made, fingerprint: body.items[0]!.fingerprint };
  };

  test("takes the group out of the problems, keeps it in the list, and records who did it", async () => {
    const { operator, viewer, admin, fingerprint } = await failed();
    const before = (await viewer.get<Overview>("/overview")).body;
    expect([before.health.level, before.tiles.failed.jobs, before.attention.length]).toEqual([
      "degraded",
      1,
      1,
    ]);
    const given = { reason: "known", for: "1d" };
    expect((await operator.post(`/failures/${fingerprint}/mute`, given)).status).toBe(200);
    const { body } = await viewer.get<Overview>("/overview");
    expect([body.health.level, body.tiles.failed.jobs, body.attention]).toEqual(["healthy", 0, []]);
    expect(body.tiles.failed.runs.value).toBe(1);
    expect((await viewer.get<{ items: JobView[] }>("/jobs")).body.items[0]).toMatchObject({
      fails: 1,
      muted: true,
    });
    const [group] = (await viewer.get<FailuresResponse>("/failures")).body.items;
    expect(group).toMatchObject({ fingerprint, count: { value: 1 }, mute: { by: "ana", reason: "known" } });
    expect(Date.parse(group!.mute!.until!) - Date.parse(group!.mute!.since)).toBe(86_400_000);

    expect((await operator.post(`/failures/${fingerprint}/unmute`)).status).toBe(200);
    expect((await viewer.get<Overview>("/overview")).body.health.level).toBe("degraded");
    const again = await operator.post<ActionResult>(`/failures/${fingerprint}/unmute`);
    expect(again.body.message).toBe("The group was not muted.");
    expect(await entries(admin)).toEqual([
      ["failure.unmute", fingerprint, "operator", null],
      ["failure.mute", fingerprint, "operator", given],
    ]);
  });

  test("refuses what is no fingerprint, and a wrong duration", async () => {
    const { operator, fingerprint } = await failed();
    expect((await operator.post<Problem>("/failures/a%20b/mute")).body.code).toBe("INVALID_OPTION");
    const { body } = await operator.post<Problem>(`/failures/${fingerprint}/mute`, { for: "soon" });
    expect(body.code).toBe("INVALID_DURATION");
  });
});

describe("actions on a worker", () => {
  test("pause, resume and stop are requests that the worker obeys, and are recorded", async () => {
    const { jobs, clock, operator, admin } = scene();
    const ended = jobs.forever({ signals: false });
    const { worker } = await heard(jobs, "worker.started");
    const shown = async () => (await operator.get<{ items: WorkerView[] }>("/workers")).body.items[0];
    expect(await shown()).toMatchObject({ id: worker, activity: "working", request: null });

    const paused = await operator.post<ActionResult>(`/workers/${worker}/pause`, { reason: "deploy" });
    expect(paused.body.message).toContain("is asked to pause");
    expect(await shown()).toMatchObject({
      activity: "working",
      request: { action: "pause", by: "ana", reason: "deploy", obeyed: false },
    });
    await clock.advance(6);
    expect(await shown()).toMatchObject({ activity: "paused", request: { action: "pause", obeyed: true } });
    const { attention } = (await operator.get<Overview>("/overview")).body;
    expect(attention).toMatchObject([
      { kind: "paused", text: "worker paused by ana (deploy)", link: "/workers" },
    ]);

    await operator.post(`/workers/${worker}/resume`);
    await clock.advance(6);
    expect(await shown()).toMatchObject({ activity: "working", request: null });

    await admin.post(`/workers/${worker}/stop`);
    const refused = await operator.post<Problem>(`/workers/${worker}/resume`);
    expect([refused.status, refused.body.code]).toEqual([409, "WORKER_STOPPING"]);
    await clock.advance(6);
    await ended;
    const gone = await operator.post<Problem>(`/workers/${worker}/pause`);
    expect([gone.status, gone.body.code]).toEqual([404, "UNKNOWN_WORKER"]);
    expect(await entries(admin)).toEqual([
      ["worker.stop", worker, "admin", {}],
      ["worker.resume", worker, "operator", null],
      ["worker.pause", worker, "operator", { reason: "deploy" }],
    ]);
  });
});
