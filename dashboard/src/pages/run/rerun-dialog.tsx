import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Problem, RunDetail } from "../../../../src/dashboard/api/contract.ts";
import { request, toProblem } from "../../api/client.ts";
import { Button } from "../../components/button.tsx";
import { CommandLine } from "../../components/copy-button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { notify } from "../../components/notices.tsx";
import { ProblemText } from "../../components/problem.tsx";
import { Skeleton } from "../../components/skeleton.tsx";
import { formatJson } from "../../json/format.ts";
import { faultOf, JsonInput } from "../../json/json-input.tsx";
import { parseJson } from "../../json/parse.ts";
import { pathTo } from "../../router/path.ts";
import { navigate } from "../../router/router.ts";

/** Text that the server writes in place of a secret. */
const HIDDEN = "[hidden]";

/** Dispatches a new run with the arguments of this one, or with edited ones. */
export function RerunDialog({ run, onClose }: { run: RunDetail; onClose(): void }) {
  const original = useSignal<string | null>(run.args.truncated ? null : pretty(run.args.json));
  const text = useSignal(original.value ?? "");
  const problem = useSignal<Problem | null>(null);
  const busy = useSignal(false);
  useEffect(() => {
    if (original.peek() !== null) return;
    request("GET /runs/:id/payload", { params: { id: run.id }, query: { part: "args" } })
      .then(({ json }) => {
        original.value = pretty(json);
        text.value = original.value;
      })
      .catch((error: unknown) => {
        problem.value = toProblem(error);
      });
  }, []);
  const edited = original.value !== null && text.value !== original.value;
  const invalid = faultOf(text.value) !== null;
  const submit = async (event: Event) => {
    event.preventDefault();
    if (busy.value || invalid) return;
    busy.value = true;
    problem.value = null;
    try {
      const body = edited ? { args: text.value.trim() === "" ? "null" : text.value } : {};
      const { id, created } = await request("POST /runs/:id/rerun", { params: { id: run.id }, body });
      notify(
        created ? `Run ${id} was dispatched.` : `Run ${id} has the same unique key: no run was dispatched.`,
      );
      onClose();
      navigate(pathTo("/runs/:id", { id }));
    } catch (error) {
      problem.value = toProblem(error);
    }
    busy.value = false;
  };
  return (
    <Dialog title={`Run ${run.id} again`} size="wide" onClose={onClose}>
      <form class="stack" onSubmit={submit}>
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
          <Button type="submit" kind="primary" disabled={busy.value || invalid || original.value === null}>
            {busy.value ? "Dispatching…" : edited ? "Run with edited arguments" : "Run again"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function pretty(json: string | null): string {
  if (json === null) return "";
  const { node, fault } = parseJson(json);
  return node === null || fault !== null ? json : formatJson(node);
}
