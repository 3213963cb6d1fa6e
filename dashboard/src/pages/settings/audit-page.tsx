import { useSignal } from "@preact/signals";
import type { AuditEntry } from "../../../../src/dashboard/api/contract.ts";
import { request, toProblem } from "../../api/client.ts";
import { useResource } from "../../api/resource.ts";
import { Breadcrumb } from "../../components/breadcrumb.tsx";
import { Button } from "../../components/button.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { Name } from "../../components/names.tsx";
import { notify } from "../../components/notices.tsx";
import { Page } from "../../components/page.tsx";
import { Empty } from "../../components/problem.tsx";
import { type Column, DataTable } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { Link } from "../../router/link.tsx";
import { settings } from "../../state/settings.ts";
import { visibleText } from "../../text/visible.ts";

const COLUMNS: Column<AuditEntry>[] = [
  { key: "when", title: "When", card: "end", cell: ({ at }) => <Time at={at} /> },
  {
    key: "who",
    title: "Who",
    card: "lead",
    cell: ({ user, role }) => (
      <>
        {user === null ? <span class="muted">unknown</span> : <Name>{user}</Name>}
        {role !== null && <span class="muted"> {role}</span>}
      </>
    ),
  },
  {
    key: "action",
    title: "Action",
    card: "lead",
    cell: ({ action }) => <strong>{visibleText(action)}</strong>,
  },
  { key: "target", title: "Target", cell: ({ target }) => <Name>{target}</Name> },
  {
    key: "details",
    title: "Details",
    cell: ({ summary, details }) =>
      details !== null && (
        <details>
          <summary>
            <Name>{summary || "JSON"}</Name>
          </summary>
          <code>
            <Name>{details}</Name>
          </code>
        </details>
      ),
  },
  { key: "source", title: "Source", card: "hide", cell: ({ source }) => <Name>{source}</Name> },
];

/** Actions of operators: who, when, on what. */
export function AuditPage() {
  const limit = settings.value.pageSize;
  const resource = useResource("GET /audit", { query: { limit } });
  const older = useSignal<{ items: AuditEntry[]; next: number | null } | null>(null);
  const load = async (before: number) => {
    try {
      const page = await request("GET /audit", { query: { before, limit } });
      older.value = { items: [...(older.value?.items ?? []), ...page.items], next: page.next };
    } catch (error) {
      notify(toProblem(error).detail, "problem");
    }
  };
  return (
    <Page
      title="Audit trail"
      above={<Breadcrumb>{[<Link to="/settings">Settings</Link>, "Audit trail"]}</Breadcrumb>}
    >
      <Loaded resource={resource}>
        {(first) => {
          if (first.items.length === 0) {
            return (
              <Empty icon="search" title="No actions yet">
                <p>
                  Retries, cancellations, pauses and deletions are recorded here, with the user who asked for
                  them.
                </p>
              </Empty>
            );
          }
          const rows = merge(first.items, older.value?.items ?? []);
          const next = older.value ? older.value.next : first.next;
          return (
            <section class="panel" aria-label="Actions">
              <DataTable caption="Actions" columns={COLUMNS} rows={rows} rowKey={(entry) => entry.id} />
              {next !== null && (
                <div class="panel-content more">
                  <Button onClick={() => load(older.value ? next : rows.at(-1)!.id)}>
                    Show older actions
                  </Button>
                </div>
              )}
            </section>
          );
        }}
      </Loaded>
    </Page>
  );
}

/** New entries push others off the first page: those are still in the older ones only if they were read. */
function merge(first: AuditEntry[], older: AuditEntry[]): AuditEntry[] {
  const last = first.at(-1)!.id;
  return [...first, ...older.filter(({ id }) => id < last)];
}
