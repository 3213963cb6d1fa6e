import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import type { Redaction } from "../../../run/redaction.ts";
import { clockSkew } from "../../../time.ts";
import { version } from "../../../version.ts";
import type { JsonResult, Route, RouteContext } from "../../server/route.ts";
import type { Meta } from "../contract.ts";
import { readQuery } from "../request-values.ts";
import type { Services } from "../services.ts";
import { iso } from "../views/times.ts";

/** Generated from the contract by `scripts/openapi.ts`. The path is the same from `src` and from `dist`. */
const OPENAPI_FILE = new URL("../../../../docs/guide/openapi.json", import.meta.url);

/** `GET /meta`: not shared between users, as it names the user. */
export function metaRoute({ jobs, reports, settings, clock, reads, inspection }: Services): Route {
  // Compared at once: a shared result would add its age to the difference.
  const readClock = async () => {
    const sent = clock.now();
    const now = Number(await reports.now());
    // `|| 0`: not -0.
    return { now, skew: -clockSkew(now, sent, clock.now()) || 0 };
  };
  const handler = async ({ query, user }: RouteContext): Promise<JsonResult> => {
    readQuery(query, {});
    const [{ now, skew }, found] = await reads.get("meta", () =>
      Promise.all([readClock(), inspection.get()]),
    );
    const body: Meta = {
      title: settings.title,
      environment: settings.environment,
      version: version(),
      database: { kind: found.database, version: found.version, schema: found.schema.found },
      user,
      readOnly: settings.readOnly,
      now: iso(now),
      clockSkew: skew,
      settings: {
        Process: `${hostname()}:${process.pid}`,
        Node: process.version,
        "Jobs defined in this process": String(jobs.definitions().length),
        "Read only": settings.readOnly ? "yes" : "no",
        "Allowed hosts": ["local names", ...settings.allowedHosts].join(", "),
        "Hidden values": hiddenValues(settings.redaction),
      },
    };
    return { body, headers: { "cache-control": "no-store" } };
  };
  return { method: "GET", path: "/api/v1/meta", role: "viewer", handler };
}

function hiddenValues({ patterns }: Redaction): string {
  return patterns === null ? "none" : ["passwords, tokens and the like", ...patterns].join(", ");
}

/** `GET /openapi.json`: the description of this API. */
export function openApiRoute(): Route {
  return {
    method: "GET",
    path: "/api/v1/openapi.json",
    role: "viewer",
    handler: async () => ({ json: await readFile(OPENAPI_FILE, "utf8") }),
  };
}
