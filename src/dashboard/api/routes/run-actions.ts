import { activeStates } from "../../../run/states.ts";
import type { Route } from "../../server/route.ts";
import { defineAction, requireRole } from "../define-route.ts";
import { flag, text, toId } from "../request-values.ts";
import { findRun } from "../run-reader.ts";
import type { Services } from "../services.ts";

/** Actions on one run. The target of their entries in the audit trail is `run 12`. */
export function runActions(services: Services): Route[] {
  const { jobs } = services;
  const idOf = (params: Readonly<Record<string, string>>) => toId(params.id!, "the id of a run");
  return [
    defineAction(services, "POST /runs/:id/retry", { role: "operator", body: {} }, async ({ params }) => {
      const id = idOf(params);
      await jobs.retry(id);
      const message = `Run ${id} waits for its next attempt.`;
      return { response: { message }, audit: { action: "run.retry", target: `run ${id}` } };
    }),
    defineAction(
      services,
      "POST /runs/:id/cancel",
      { role: "operator", body: { force: flag } },
      async ({ params, body: { force } }) => {
        const id = idOf(params);
        // Without `only`, cancel() also succeeds for a run that was cancelled before.
        const effect = await jobs.cancel(id, { force, only: activeStates });
        const message =
          effect === "cancelled"
            ? `Run ${id} was cancelled.`
            : `Run ${id} was asked to cancel: its handler decides when it ends.`;
        const details = { effect, force };
        return { response: { message }, audit: { action: "run.cancel", target: `run ${id}`, details } };
      },
    ),
    defineAction(
      services,
      "POST /runs/:id/rerun",
      { role: "operator", body: { args: text } },
      async ({ params, body: { args }, user }) => {
        if (args !== undefined) requireRole(user, "admin", "change the arguments of a run");
        const id = idOf(params);
        const run = await jobs.rerun(id, args === undefined ? {} : { json: args });
        const details = { run: run.id, edited: args !== undefined };
        return {
          status: 201,
          response: { id: run.id, created: run.inserted },
          audit: { action: "run.rerun", target: `run ${id}`, details },
        };
      },
    ),
    defineAction(services, "DELETE /runs/:id", { role: "admin", body: {} }, async ({ params }) => {
      const { id, name, state } = await findRun(services, idOf(params));
      await jobs.remove(id);
      const details = { job: name, state };
      return {
        response: { message: `Run ${id} was deleted.` },
        audit: { action: "run.delete", target: `run ${id}`, details },
      };
    }),
  ];
}
