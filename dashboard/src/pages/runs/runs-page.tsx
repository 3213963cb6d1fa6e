import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { urlOf } from "../../api/client.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { Icon } from "../../components/icon.tsx";
import { Page } from "../../components/page.tsx";
import { query, setQuery } from "../../router/router.ts";
import { PAGE_SIZES, settings } from "../../state/settings.ts";
import { localZone } from "../../time/format.ts";
import { type BulkRequestDraft, RunsDialog } from "./bulk-dialog.tsx";
import { ColumnMenu } from "./column-menu.tsx";
import { QueryBar } from "./query-bar.tsx";
import { RunsList } from "./runs-list.tsx";
import { SavedFilters, SaveFilterButton } from "./saved-filters.tsx";
import { useSelection } from "./selection.ts";
import { StateTabs } from "./state-tabs.tsx";
import { useRuns } from "./use-runs.ts";

/** Contents of the list, as the address has them. */
export interface RunsView {
  q: string;
  before: number | null;
  limit: number;
  /** Zone in which the server reads times of the query. */
  zone: string;
}

function viewFromAddress(): RunsView {
  const before = Number(query.value.get("before") ?? "");
  const limit = Number(query.value.get("limit") ?? "");
  return {
    q: query.value.get("q") ?? "",
    before: Number.isInteger(before) && before > 0 ? before : null,
    limit: PAGE_SIZES.includes(limit) ? limit : settings.value.pageSize,
    zone: settings.value.zone === "utc" ? "UTC" : localZone(),
  };
}

/** Finds runs and acts on them. Everything that is shown is in the address, which can be shared. */
export function RunsPage() {
  const view = viewFromAddress();
  const list = useRuns(view);
  const selection = useSelection(view.q, list.rows);
  const draft = useSignal<BulkRequestDraft | null>(null);
  const bar = useRef<HTMLInputElement>(null);
  const search = (q: string) => setQuery({ q, before: null });

  useEffect(() => {
    if (!query.value.has("focus")) return;
    setQuery({ focus: null }, { replace: true });
    // After the router has moved the focus to the heading.
    requestAnimationFrame(() => requestAnimationFrame(() => bar.current?.focus()));
  }, []);

  return (
    <Page
      title="Runs"
      actions={
        <>
          <SaveFilterButton q={view.q} />
          <CopyButton text={() => location.href} label="Copy URL of this list">
            Copy URL
          </CopyButton>
          <ExportLink view={view} />
          <ColumnMenu />
        </>
      }
    >
      <section class="panel runs" aria-label="List of runs">
        <QueryBar inputRef={bar} value={view.q} problem={list.problem} onSearch={search} />
        <SavedFilters q={view.q} />
        <StateTabs view={view} onSearch={search} />
        <RunsList
          view={view}
          list={list}
          selection={selection}
          onSearch={search}
          onAct={(next) => {
            draft.value = next;
          }}
        />
      </section>
      {draft.value && (
        <RunsDialog
          draft={draft.value}
          zone={view.zone}
          onDone={() => {
            selection.clear();
            list.refresh();
          }}
          onClose={() => {
            draft.value = null;
          }}
        />
      )}
    </Page>
  );
}

/** Most runs that one request of the API returns. */
const EXPORTED = 200;

/** Downloads what the API returns for the list: from the same place on, and as many runs as it gives at once. */
function ExportLink({ view: { q, before, zone } }: { view: RunsView }) {
  const query = { q, zone, limit: EXPORTED, ...(before ? { before } : {}) };
  const label = `Download the list as JSON, at most ${EXPORTED} runs`;
  return (
    <a
      class="button button-plain button-small"
      href={urlOf("GET /runs", { query })}
      download="runs.json"
      aria-label={label}
      title={label}
    >
      <Icon name="download" />
      <span>JSON</span>
    </a>
  );
}
