import type { Route } from "../../server/route.ts";
import { findBatch, readBatch } from "../batch-reader.ts";
import type { BatchAction } from "../contract.ts";
import { type ActionKey, defineAction, defineRead } from "../define-route.ts";
import { cursor, digits, idList, oneOf, toId } from "../request-values.ts";
import type { Services } from "../services.ts";
import { toBatchView } from "../views/batch.ts";

const MOST_ROWS = 200;
const DEFAULT_ROWS = 50;

/** Newer batches are counted up to this number. */
const MOST_ADDED = 100;

const show = oneOf(["all", "unfinished"], "all");

type Params = Readonly<Record<string, string>>;

const idOf = (params: Params) => toId(params.id!, "the id of a batch");

export function batchesRoutes(services: Services): Route[] {
  const { reports } = services;
  return [
    defineRead(
      services,
      "GET /batches",
      { show, before: cursor, limit: digits(1, MOST_ROWS, DEFAULT_ROWS) },
      async ({ query: { show: which, before, limit } }) => {
        const page = await reports.batches({ unfinished: which === "unfinished", before, limit });
        return { items: page.batches.map(toBatchView), next: page.next };
      },
    ),
    defineRead(
      services,
      "GET /batches/changes",
      { show, ids: idList(MOST_ROWS), newest: cursor },
      async ({ query: { show: which, ids, newest } }) => {
        const { batches } = await reports.batches({ ids, limit: MOST_ROWS });
        const added =
          newest === undefined
            ? []
            : (
                await reports.batches({
                  after: newest,
                  unfinished: which === "unfinished",
                  limit: MOST_ADDED,
                })
              ).batches;
        return {
          batches: batches.map(toBatchView),
          added: { value: added.length, capped: added.length === MOST_ADDED },
        };
      },
    ),
    defineRead(services, "GET /batches/:id", {}, ({ params, user }) =>
      readBatch(services, idOf(params), user),
    ),
    ...batchActions(services),
  ];
}

/** The effect of an action on a batch. */
interface BatchEffect {
  message: string;
  changed: boolean;
  details?: { retried: number };
}

/** Actions on one batch. The target of their entries in the audit trail is `batch 12`, as the command line writes it. */
function batchActions(services: Services): Route[] {
  const { jobs } = services;
  const define = (
    key: Extract<ActionKey, `POST /batches/${string}`>,
    act: (id: number) => Promise<BatchEffect>,
  ) =>
    defineAction(services, key, { role: "operator", body: {} }, async ({ params }) => {
      const id = idOf(params);
      const { message, changed, details } = await act(id);
      const action = `batch.${key.split("/").at(-1) as BatchAction}`;
      const audit = { action, target: `batch ${id}`, ...(details && { details }) };
      return { response: { message }, audit: changed ? audit : null };
    });
  return [
    define("POST /batches/:id/seal", async (id) => {
      if ((await findBatch(services, id)).state !== "open")
        return { message: `Batch ${id} was sealed before.`, changed: false };
      await jobs.sealBatch(id);
      return { message: `Batch ${id} is sealed: it finishes when its members have ended.`, changed: true };
    }),
    define("POST /batches/:id/cancel", async (id) => {
      await jobs.cancelBatch(id);
      const message = `Batch ${id} was cancelled: waiting members do not start, running ones were asked to end.`;
      return { message, changed: true };
    }),
    define("POST /batches/:id/retry", async (id) => {
      const retried = await jobs.retryBatch(id);
      if (retried === 0)
        return { message: `Batch ${id} has no failed or cancelled member that is kept.`, changed: false };
      const members = retried === 1 ? "1 member waits" : `${retried} members wait`;
      const message = `Batch ${id} runs again: ${members} for another attempt.`;
      return { message, changed: true, details: { retried } };
    }),
  ];
}
