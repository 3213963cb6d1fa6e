import { useSignal } from "@preact/signals";
import type { JsonText } from "../../../src/dashboard/api/contract.ts";
import { request, toProblem } from "../api/client.ts";
import { Button } from "../components/button.tsx";
import { CopyButton } from "../components/copy-button.tsx";
import { notify } from "../components/notices.tsx";
import { formatBytes } from "../text/bytes.ts";
import { formatJson } from "./format.ts";
import { parseJson } from "./parse.ts";
import { JsonTree } from "./tree.tsx";

interface JsonViewProps {
  value: JsonText;
  /** Said if there is no value. */
  none: string;
  /** Loads the whole text of a value that was cut. */
  load?: () => Promise<JsonText>;
}

/** A stored JSON value: its size, buttons to copy or load it, and the tree. */
export function JsonView({ value, none, load }: JsonViewProps) {
  const loaded = useSignal<{ of: string; whole: JsonText } | null>(null);
  const busy = useSignal(false);
  const shown = loaded.value?.of === value.json ? loaded.value.whole : value;
  if (shown.json === null) return <p class="muted">{none}</p>;
  const text = shown.json;
  const loadAll = async () => {
    busy.value = true;
    try {
      loaded.value = { of: value.json!, whole: await load!() };
    } catch (error) {
      notify(toProblem(error).detail, "problem");
    }
    busy.value = false;
  };
  return (
    <div class="stack-tight">
      <div class="json-head">
        <span class="muted">{formatBytes(shown.size)}</span>
        {shown.truncated && load && (
          <Button small disabled={busy.value} onClick={loadAll}>
            {busy.value ? "Loading…" : `Load all ${formatBytes(shown.size)}`}
          </Button>
        )}
        <CopyButton text={() => pretty(text)} label="Copy JSON">
          Copy
        </CopyButton>
      </div>
      <JsonTree text={text} />
    </div>
  );
}

function pretty(text: string): string {
  const { node, fault } = parseJson(text);
  return node === null || fault !== null ? text : formatJson(node);
}

export function loadPart(id: number, part: "args" | "result" | "progress"): () => Promise<JsonText> {
  return () => request("GET /runs/:id/payload", { params: { id }, query: { part } });
}
