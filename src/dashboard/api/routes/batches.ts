import { type BatchStatus, batchRefused } from "../../../run/batch.ts";
import type { Route } from "../../server/route.ts";
import { findBatch, readBatch } from "../batch-reader.ts";
import type { BulkOperations } from "../bulk-operations.ts";
import { defineAction, defineRead } from "../define-route.ts";
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

export function batchesRoutes(services: Services, operations: BulkOperations): Route[] {
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
    ...batchActions(services, operations),
  ];
}

/**
 * Actions on one batch. The target of their entries in the audit trail is `batch 12`, as the command line writes it. A
 * batch may have very many members, so that cancelling and retrying are operations that go on behind the response.
 */
function batchActions(services: Services, operations: BulkOperations): Route[] {
  const start = (action: "cancel" | "retry", membersOf: (batch: BatchStatus) => number) =>
    defineAction(
      services,
      `POST /batches/:id/${action}`,
      { role: "operator", body: {} },
      async ({ params, user }) => {
        const batch = await findBatch(services, idOf(params));
        const { id, state } = batch;
        if (action === "cancel" && state === "finished") throw batchRefused("cancel", id, state);
        const selection = { batch: id, members: membersOf(batch) };
        // The operation itself is recorded, at its start and with its result.
        return { status: 202, response: await operations.start(action, selection, user), audit: null };
      },
    );
  return [
    defineAction(services, "POST /batches/:id/seal", { role: "operator", body: {} }, async ({ params }) => {
      const id = idOf(params);
      if ((await findBatch(services, id)).state !== "open")
        return { response: { message: `Batch ${id} was sealed before.` }, audit: null };
      await services.jobs.sealBatch(id);
      const message = `Batch ${id} is sealed: it finishes when its members have ended.`;
      return { response: { message }, audit: { action: "batch.seal", target: `batch ${id}` } };
    }),
    start("cancel", ({ unfinished }) => unfinished),
    start("retry", ({ failed, cancelled }) => failed + cancelled),
  ];
}
