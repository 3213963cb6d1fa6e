import { PunctualError } from "../../../errors.ts";
import { shellQuote } from "../../../status/hints.ts";
import type { Route } from "../../server/route.ts";
import type { JobDetail } from "../contract.ts";
import { defineRead } from "../define-route.ts";
import { oneOf } from "../request-values.ts";
import { recentRuns } from "../run-reader.ts";
import { readSchedules } from "../schedule-reader.ts";
import type { Services } from "../services.ts";
import { toFailureGroups } from "../views/failure-group.ts";
import { type JobContext, settingsOf, toJobView } from "../views/job.ts";
import { toTrendView } from "../views/trend.ts";
import { SPANS } from "./overview.ts";

const MOST_FAILURES = 10;

/** Longest arguments that start the form of a dispatch. */
const LONGEST_ARGS = 64 * 1024;

export function jobsRoutes(services: Services): Route[] {
  return [
    defineRead(services, "GET /jobs", {}, async () => {
      const context = await readContext(services);
      return { items: context.report.jobs.map((job) => toJobView(job, context)) };
    }),
    defineRead(services, "GET /jobs/:name", { over: oneOf(SPANS, "24h") }, ({ params, query: { over } }) =>
      readJob(services, params.name!, over),
    ),
  ];
}

async function readContext(services: Services): Promise<JobContext> {
  const { trends, settings } = services;
  const read = [services.status(), trends.jobs.get(), trends.days.get()] as const;
  const [report, hours, days] = await Promise.all(read);
  return { report, hours, days, redaction: settings.redaction };
}

async function readJob(services: Services, name: string, over: (typeof SPANS)[number]): Promise<JobDetail> {
  const { reports, settings } = services;
  const { redaction } = settings;
  const context = await readContext(services);
  const job = context.report.jobs.find((one) => one.name === name);
  if (!job) throw new PunctualError("UNKNOWN_JOB", `There is no job ${JSON.stringify(name)}.`);
  const now = Number(context.report.now);
  const [trend, schedules, failures, recent, { runs }] = await Promise.all([
    reports.trend({ job: name, over }),
    readSchedules(services, (schedule) => schedule.job === name),
    reports.failures({ job: name, over: "7d", limit: MOST_FAILURES }),
    recentRuns(services, name, now),
    reports.storedRuns({ job: name, limit: 1 }),
  ]);
  const definition = services.definition(name);
  const lastArgs = runs[0]?.args ?? null;
  const last = lastArgs === null ? null : redaction.json(lastArgs, LONGEST_ARGS);
  const quoted = shellQuote(name);
  return {
    ...toJobView(job, context),
    trend: toTrendView(trend, over),
    schedules,
    failures: toFailureGroups(failures, redaction),
    recent,
    settings: definition ? settingsOf(definition) : null,
    definedAt: definition?.callSite?.file == null ? null : String(definition.callSite),
    lastArgs: last === null || last.truncated ? null : last.json,
    commands: {
      dispatch: `punctual dispatch ${quoted}`,
      pause: `punctual pause job ${quoted}`,
      resume: `punctual resume job ${quoted}`,
    },
  };
}
