import type { Route } from "../../server/route.ts";
import { defineRead } from "../define-route.ts";
import { cursor, digits, oneOf, toId } from "../request-values.ts";
import { findRun, readChildren, readRun } from "../run-reader.ts";
import type { Services } from "../services.ts";
import { toJsonText } from "../views/json-text.ts";
import { iso } from "../views/times.ts";

const MOST_LINES = 1000;
const DEFAULT_LINES = 200;

const PARTS = ["args", "result", "progress"] as const;

export function runRoutes(services: Services): Route[] {
  const { reports, settings } = services;
  const { redaction } = settings;
  const idOf = (params: Readonly<Record<string, string>>) => toId(params.id!, "the id of a run");
  return [
    defineRead(services, "GET /runs/:id", {}, ({ params, user }) => readRun(services, idOf(params), user)),
    defineRead(
      services,
      "GET /runs/:id/logs",
      { after: digits(0, Number.MAX_SAFE_INTEGER, 0), limit: digits(1, MOST_LINES, DEFAULT_LINES) },
      async ({ params, query }) => {
        const { id } = await findRun(services, idOf(params));
        const lines = await reports.storedLogs(id, query);
        return {
          lines: lines.map(({ position, attempt, at, message, data }) => ({
            position,
            attempt,
            at: iso(at),
            message: redaction.text(message),
            data: toJsonText(data, redaction).json,
          })),
          total: await reports.countLogs(id),
        };
      },
    ),
    defineRead(
      services,
      "GET /runs/:id/payload",
      { part: oneOf(PARTS, "args") },
      async ({ params, query: { part } }) => {
        const run = await findRun(services, idOf(params));
        return toJsonText(run[part], redaction, Number.POSITIVE_INFINITY);
      },
    ),
    defineRead(
      services,
      "GET /runs/:id/children",
      { before: cursor },
      async ({ params, query: { before } }) => {
        const { id } = await findRun(services, idOf(params));
        return readChildren(services, id, before);
      },
    ),
  ];
}
