import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { RunDetail } from "../../../../src/dashboard/api/contract.ts";
import { request, toProblem } from "../../api/client.ts";
import { Button } from "../../components/button.tsx";
import { CommandLine } from "../../components/copy-button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { ProblemText } from "../../components/problem.tsx";
import { Skeleton } from "../../components/skeleton.tsx";
import { useSubmit } from "../../components/use-submit.ts";
import { HIDDEN, openDispatched } from "../../dispatch/dispatched.ts";
import { prettyJson } from "../../json/format.ts";
import { faultOf, JsonInput } from "../../json/json-input.tsx";

/** Dispatches a new run with the arguments of this one, or with edited ones. */
export function RerunDialog({ run, onClose }: { run: RunDetail; onClose(): void }) {
  const original = useSignal<string | null>(run.args.truncated ? null : prettyJson(run.args.json ?? ""));
  const text = useSignal(original.value ?? "");
  const edited = original.value !== null && text.value !== original.value;
  const blocked = faultOf(text.value) !== null || original.value === null;
  const { busy, problem, onSubmit } = useSubmit(async () => {
    const body = edited ? { args: text.value.trim() === "" ? "null" : text.value } : {};
    const result = await request("POST /runs/:id/rerun", { params: { id: run.id }, body });
    onClose();
    openDispatched(result);
  }, blocked);
  useEffect(() => {
    if (original.peek() !== null) return;
    request("GET /runs/:id/payload", { params: { id: run.id }, query: { part: "args" } })
      .then(({ json }) => {
        original.value = prettyJson(json ?? "");
        text.value = original.value;
      })
      .catch((error: unknown) => {
        problem.value = toProblem(error);
      });
  }, []);
  return (
    <Dialog title={`Run ${run.id} again`} size="wide" onClose={onClose}>
      <form class="stack" onSubmit={onSubmit}>
        <p class="muted">
          A new run is dispatched, with a link to this one. Without edits it gets exactly the stored
          arguments.
        </p>
        {original.value === null && problem.value === null ? (
          <Skeleton rows={6} />
        ) : (
          <JsonInput
            label="Arguments as JSON"
            value={text.value}
            rows={14}
            onChange={(value) => {
              text.value = value;
            }}
          />
        )}
        {edited && text.value.includes(HIDDEN) && (
          <p class="warm">
            {`Secrets are hidden here. An edited payload sends the text ${HIDDEN} in their place: write the values in.`}
          </p>
        )}
        {run.commands.rerun && !edited && <CommandLine command={run.commands.rerun} />}
        {problem.value && <ProblemText problem={problem.value} />}
        <div class="dialog-actions">
          <Button onClick={onClose}>Close</Button>
          <Button type="submit" kind="primary" disabled={busy || blocked}>
            {busy ? "Dispatching…" : edited ? "Run with edited arguments" : "Run again"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
