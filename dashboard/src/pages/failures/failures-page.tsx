import { useSignal } from "@preact/signals";
import type { FailureGroup, FailuresResponse } from "../../../../src/dashboard/api/contract.ts";
import { useResource } from "../../api/resource.ts";
import { Choice } from "../../components/choice.tsx";
import { FilterBar, useFilter, useGroup } from "../../components/filter-bar.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { Page } from "../../components/page.tsx";
import { Empty } from "../../components/problem.tsx";
import { useSteadyRows } from "../../components/steady-rows.ts";
import { Link } from "../../router/link.tsx";
import { query } from "../../router/router.ts";
import { FailureList } from "./failure-list.tsx";

type Order = "last" | "count" | "first";

const ORDERS: Record<Order, (group: FailureGroup) => number> = {
  last: (group) => Date.parse(group.last),
  count: (group) => group.count.value,
  first: (group) => Date.parse(group.first),
};

const CHOICES = {
  all: () => true,
  open: (group: FailureGroup) => group.mute === null,
  muted: (group: FailureGroup) => group.mute !== null,
};

function groupsOf(matching: readonly FailureGroup[]) {
  return (["all", "open", "muted"] as const).map((value) => ({
    value,
    label: value[0]!.toUpperCase() + value.slice(1),
    count: matching.filter(CHOICES[value]).length,
  }));
}

/** Failed runs by cause: one line for each kind of error. */
export function FailuresPage() {
  const resource = useResource("GET /failures", {});
  return (
    <Page title="Failures">
      <Loaded resource={resource}>
        {(data) =>
          data.items.length === 0 ? (
            <Empty
              icon="completed"
              title="No failed runs"
              actions={
                <Link class="button" to="/runs">
                  All runs
                </Link>
              }
            >
              <p>Runs that fail are grouped here by their error, and kept for 30 days.</p>
            </Empty>
          ) : (
            <Groups data={data} refresh={resource.refresh} />
          )
        }
      </Loaded>
    </Page>
  );
}

function Groups({ data, refresh }: { data: FailuresResponse; refresh(): void }) {
  const filter = useFilter();
  const orderBy = useSignal<Order>("last");
  const rank = ORDERS[orderBy.value];
  const { group, onGroup } = useGroup(["all", "open", "muted"]);
  const matching = data.items.filter(({ error, jobs, place }) =>
    filter.matches(error.name, error.message, place, ...jobs),
  );
  const found = matching
    .filter(CHOICES[group])
    .toSorted((a, b) => Number(a.mute !== null) - Number(b.mute !== null) || rank(b) - rank(a));
  const order = [orderBy.value, group, filter.text].join(" ");
  const groups = useSteadyRows(found, ({ fingerprint }) => fingerprint, order);
  const marked = query.value.get("group");
  return (
    <section class="panel" aria-label="Groups of failures">
      <div class="filter-line">
        <FilterBar
          filter={filter}
          label="Filter failures"
          groups={data.items.some(CHOICES.muted) ? groupsOf(matching) : []}
          group={group}
          onGroup={onGroup}
        />
        <Choice
          label="Order"
          value={orderBy.value}
          options={[
            { value: "last", label: "Latest" },
            { value: "count", label: "Most runs" },
            { value: "first", label: "Newest kind" },
          ]}
          onChange={(value) => {
            orderBy.value = value;
          }}
        />
      </div>
      <FailureList groups={groups} refresh={refresh} marked={marked} />
      {groups.length === 0 && <p class="panel-content muted">No group matches.</p>}
      {data.capped && (
        <p class="panel-content muted">
          There are more failed runs than were read for these groups.{" "}
          <Link to="/runs?q=state:failed">All failed runs</Link>
        </p>
      )}
      {marked !== null && !data.items.some((group) => group.fingerprint === marked) && (
        <p class="panel-content muted">The group of this address has no failed runs any more.</p>
      )}
    </section>
  );
}
