import type { Route } from "../../server/route.ts";
import { defineRead } from "../define-route.ts";
import { cursor, digits } from "../request-values.ts";
import type { Services } from "../services.ts";
import { toJsonText } from "../views/json-text.ts";
import { iso } from "../views/times.ts";

const MOST_ENTRIES = 200;
const DEFAULT_ENTRIES = 50;

export function auditRoute(services: Services): Route {
  const { reports, settings } = services;
  const readers = { before: cursor, limit: digits(1, MOST_ENTRIES, DEFAULT_ENTRIES) };
  return defineRead(services, "GET /audit", readers, async ({ query }) => {
    const { entries, next } = await reports.audit(query);
    const items = entries.map(({ details, at, ...entry }) => ({
      ...entry,
      at: iso(at),
      details: details === undefined ? null : toJsonText(JSON.stringify(details), settings.redaction).json,
    }));
    return { items, next };
  });
}
