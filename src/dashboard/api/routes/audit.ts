import { detailsInWords } from "../../../operate/action-words.ts";
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
    const items = entries.map(({ details, at, ...entry }) => {
      const { json, truncated } = toJsonText(JSON.stringify(details) ?? null, settings.redaction);
      const summary = json === null || truncated ? "" : detailsInWords(JSON.parse(json));
      return { ...entry, at: iso(at), summary, details: json };
    });
    return { items, next };
  });
}
