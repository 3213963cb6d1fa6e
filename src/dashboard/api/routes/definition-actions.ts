import type { PauseOptions } from "../../../operate/pause.ts";
import type { JsonValue } from "../../../run/payload.ts";
import { withoutUndefined } from "../../../validate/options.ts";
import type { Route } from "../../server/route.ts";
import type { ActionResult } from "../contract.ts";
import { defineAction, type Effect } from "../define-route.ts";
import { anything, duration, integer, invalid, text, texts, toId } from "../request-values.ts";
import type { Services } from "../services.ts";

const PAUSE = { reason: text, for: duration };

/** Actions on jobs, queues and schedules. */
export function definitionActions(services: Services): Route[] {
  const { jobs } = services;
  const operator = { role: "operator", body: {} } as const;
  const pausing = { role: "operator", body: PAUSE } as const;
  const scheduleOf = (params: Readonly<Record<string, string>>) => toId(params.id!, "the id of a schedule");
  return [
    dispatchAction(services),
    defineAction(
      services,
      "POST /jobs/:name/pause",
      pausing,
      async ({ params: { name = "" }, body, user }) => {
        refuseDuration(body.for, "a job");
        await jobs.pauseJob(name, toPause(body.reason, user.name));
        return done(
          `Job "${name}" is paused: current runs continue, no new ones start.`,
          "job.pause",
          name,
          body,
        );
      },
    ),
    defineAction(services, "POST /jobs/:name/resume", operator, async ({ params: { name = "" } }) => {
      await jobs.resumeJob(name);
      return done(`Job "${name}" is not paused any more.`, "job.resume", name);
    }),
    defineAction(
      services,
      "POST /queues/:name/pause",
      pausing,
      async ({ params: { name = "" }, body, user }) => {
        await jobs.pauseQueue(name, { ...toPause(body.reason, user.name), for: body.for });
        const text = `Queue "${name}" is paused: current runs continue, no new ones start.`;
        return done(text, "queue.pause", name, body);
      },
    ),
    defineAction(services, "POST /queues/:name/resume", operator, async ({ params: { name = "" } }) => {
      await jobs.resumeQueue(name);
      return done(`Queue "${name}" is not paused any more.`, "queue.resume", name);
    }),
    defineAction(services, "POST /schedules/:id/run", operator, async ({ params }) => {
      const id = scheduleOf(params);
      const run = await jobs.runSchedule(id);
      const details = { run: run.id, job: run.name };
      return {
        status: 201,
        response: { id: run.id, created: run.inserted },
        audit: { action: "schedule.run", target: `schedule ${id}`, details },
      };
    }),
    defineAction(services, "POST /schedules/:id/pause", pausing, async ({ params, body, user }) => {
      const id = scheduleOf(params);
      refuseDuration(body.for, "a schedule");
      await jobs.pauseSchedule(id, toPause(body.reason, user.name));
      const text = `Schedule ${id} is paused: its ticks are not made up.`;
      return done(text, "schedule.pause", `schedule ${id}`, body);
    }),
    defineAction(services, "POST /schedules/:id/resume", operator, async ({ params }) => {
      const id = scheduleOf(params);
      await jobs.resumeSchedule(id);
      return done(`Schedule ${id} ticks again.`, "schedule.resume", `schedule ${id}`);
    }),
  ];
}

function dispatchAction(services: Services): Route {
  const body = {
    args: text,
    value: anything,
    queue: text,
    priority: integer,
    key: text,
    delay: duration,
    at: text,
    tags: texts,
    unique: text,
  };
  return defineAction(
    services,
    "POST /jobs/:name/dispatch",
    { role: "operator", body },
    async ({ params: { name = "" }, body: { args, value, ...options } }) => {
      if (args !== undefined && value !== undefined)
        throw invalid("args (JSON text) or value (any JSON), got both");
      if (options.delay !== undefined && options.at !== undefined)
        throw invalid("delay or at, got both: each sets the due time");
      const json = args ?? (value === undefined ? null : JSON.stringify(value));
      const run = await services.jobs.dispatchJson(name, json, withoutUndefined(options));
      const details = { run: run.id, created: run.inserted };
      return {
        status: run.inserted ? 201 : 200,
        response: { id: run.id, created: run.inserted },
        audit: run.inserted ? { action: "job.dispatch", target: name, details } : null,
      };
    },
  );
}

function toPause(reason: string | undefined, by: string): PauseOptions {
  return { by, ...(reason !== undefined && reason !== "" && { reason }) };
}

function refuseDuration(given: unknown, what: string): void {
  if (given !== undefined)
    throw invalid(`no "for" in the pause of ${what}: only queues resume by themselves`);
}

function done(message: string, action: string, target: string, body: object = {}): Effect<ActionResult> {
  const details = withoutUndefined(body) as { [key: string]: JsonValue };
  const audit = { action, target, ...(Object.keys(details).length > 0 && { details }) };
  return { response: { message }, audit };
}
