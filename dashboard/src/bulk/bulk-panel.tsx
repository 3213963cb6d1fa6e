import type { BulkOperation } from "../../../src/dashboard/api/contract.ts";
import { request, toProblem } from "../api/client.ts";
import { Button } from "../components/button.tsx";
import { Icon } from "../components/icon.tsx";
import { notify } from "../components/notices.tsx";
import { formatCount, formatNumber } from "../text/number.ts";
import { closeBulk, operations, resultText } from "./bulk.ts";

const WORKING = { retry: "Retrying", cancel: "Cancelling", delete: "Deleting" } as const;
const ENDED = { finished: "", failed: "Stopped by an error: ", stopped: "Stopped: " } as const;

/** The bulk operations of this tab, with progress and result. They stay while the user visits other pages. */
export function BulkPanel() {
  return (
    <aside class="operation-panel" aria-label="Bulk operations" aria-live="polite">
      {operations.value.map((operation) => (
        <Operation key={operation.id} operation={operation} />
      ))}
    </aside>
  );
}

function Operation({ operation }: { operation: BulkOperation }) {
  const { id, action, state, done, requested, skipped, total, error } = operation;
  const handled = Object.values(skipped).reduce((sum, count) => sum + count, done + requested);
  const stop = async () => {
    try {
      await request("POST /bulk/:id/stop", { params: { id }, body: {} });
    } catch (problem) {
      notify(toProblem(problem).detail, "problem");
    }
  };
  if (state === "running") {
    return (
      <div class="operation">
        <div class="operation-line">
          <strong>{WORKING[action]}…</strong>
          <span class="muted">
            {formatNumber(handled)} of {formatCount(total)}
          </span>
          <Button small kind="plain" onClick={stop}>
            Stop
          </Button>
        </div>
        <progress
          class="progress-bar"
          max={Math.max(total.value, handled, 1)}
          value={handled}
          aria-label={WORKING[action]}
        />
      </div>
    );
  }
  return (
    <div class={`operation operation-${state}`}>
      <div class="operation-line">
        <Icon name={state === "finished" ? "completed" : "late"} />
        <span>
          {ENDED[state]}
          <strong>{resultText(operation)}</strong>
          {error && <span class="muted"> {error}</span>}
        </span>
        <Button small kind="plain" icon="close" label="Dismiss" onClick={() => closeBulk(id)} />
      </div>
    </div>
  );
}
