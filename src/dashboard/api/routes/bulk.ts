import { checkSelects } from "../../../operate/bulk.ts";
import { parseQuery } from "../../../query/parse.ts";
import type { Route } from "../../server/route.ts";
import type { BulkOperations, Selection } from "../bulk-operations.ts";
import type { BulkRequest } from "../contract.ts";
import { defineAction, requireRole } from "../define-route.ts";
import { ids, invalid, oneOf, text } from "../request-values.ts";
import { toRunsQuery } from "../run-search.ts";
import type { Services } from "../services.ts";

const MOST_IDS = 10_000;

export function bulkRoutes(services: Services, operations: BulkOperations): Route[] {
  const body = { action: oneOf(["retry", "cancel", "delete"]), ids: ids(MOST_IDS), q: text, zone: text };
  return [
    defineAction(
      services,
      "POST /runs/bulk",
      { role: "operator", body },
      async ({ body: { action, ids, q, zone }, user }) => {
        if (action === "delete") requireRole(user, "admin", "delete runs");
        const selection = toSelection(services, action, { ids, q, zone });
        // The operation itself is recorded when it ends, with its result.
        return { status: 202, response: await operations.start(action, selection, user), audit: null };
      },
    ),
    {
      method: "GET",
      path: "/api/v1/bulk/:id",
      role: "viewer",
      handler: ({ params }) => ({
        body: operations.find(params.id!),
        headers: { "cache-control": "no-store" },
      }),
    },
    defineAction(services, "POST /bulk/:id/stop", { role: "operator", body: {} }, async ({ params }) => ({
      response: operations.stop(params.id!),
      audit: null,
    })),
  ];
}

/** Added to a query that names no state: a retry of `job:mail` must not repeat completed runs. */
const IMPLIED = { retry: " state:failed", cancel: " state:scheduled,ready,running", delete: " is:finished" };

function toSelection(
  services: Services,
  action: BulkRequest["action"],
  { ids, q, zone }: { ids: number[] | undefined; q: string | undefined; zone: string | undefined },
): Selection {
  if (ids !== undefined && q !== undefined) throw invalid("ids or q, got both");
  if (ids !== undefined) return { ids };
  if (q === undefined) throw invalid("ids or q, got neither");
  const now = services.clock.now();
  const { where } = parseQuery(q, { now, ...(zone !== undefined && { zone }) });
  checkSelects(where, action, { now, what: "POST /runs/bulk" });
  const namesState = where.some(({ field, not }) => !not && (field === "state" || field === "aspect"));
  const full = namesState ? q : `${q}${IMPLIED[action]}`;
  return { q: full, query: toRunsQuery(services, full, zone) };
}
