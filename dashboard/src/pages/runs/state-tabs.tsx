import type { Count, StateCounts } from "../../../../src/dashboard/api/contract.ts";
import { useResource } from "../../api/resource.ts";
import { useCurrentInView } from "../../components/current-in-view.ts";
import { Icon } from "../../components/icon.tsx";
import type { Tone } from "../../components/state-badge.tsx";
import { stateTerm, withoutState, withState } from "../../query/terms.ts";
import { Link } from "../../router/link.tsx";
import { pathTo } from "../../router/path.ts";
import { formatCount } from "../../text/number.ts";
import type { RunsView } from "./runs-page.tsx";

interface Tab {
  tone: Tone;
  term: string;
}

const TABS: readonly Tab[] = [
  { tone: "scheduled", term: "state:scheduled" },
  { tone: "ready", term: "state:ready" },
  { tone: "running", term: "state:running" },
  { tone: "retrying", term: "is:retrying" },
  { tone: "late", term: "is:late" },
  { tone: "failed", term: "state:failed" },
  { tone: "completed", term: "state:completed" },
  { tone: "cancelled", term: "state:cancelled" },
  { tone: "skipped", term: "state:skipped" },
];
/** Retrying and late runs are scheduled or ready, too: they do not count twice. */
const OVERLAPPING: readonly Tone[] = ["retrying", "late"];
/** Counts need not follow every run. */
const EVERY = 4_000;

/** The states of the runs that match the rest of the query, with their numbers. */
export function StateTabs({ view }: { view: RunsView; onSearch(q: string): void }) {
  const rest = withoutState(view.q);
  const { data } = useResource("GET /runs/states", { query: { q: rest, zone: view.zone } }, { every: EVERY });
  const current = stateTerm(view.q);
  return (
    <nav class="state-tabs" aria-label="States">
      <TabLink q={rest} current={rest === view.q.trim()} count={data && total(data)}>
        All
      </TabLink>
      {TABS.map(({ tone, term }) => (
        <TabLink
          key={term}
          q={withState(view.q, term)}
          current={current === term}
          tone={tone}
          count={data?.[tone as keyof StateCounts] ?? null}
        >
          {tone}
        </TabLink>
      ))}
    </nav>
  );
}

interface TabLinkProps {
  q: string;
  current: boolean;
  count: Count | null;
  tone?: Tone;
  children: string;
}

function TabLink({ q, current, count, tone, children }: TabLinkProps) {
  const place = useCurrentInView<HTMLSpanElement>(current, count !== null);
  const quiet = count?.value === 0 && !current;
  return (
    <Link
      to={pathTo("/runs", {}, { q })}
      class={`state-tab${quiet ? " state-tab-quiet" : ""}`}
      aria-current={current ? "true" : undefined}
    >
      {tone && (
        <span class={`state-tab-icon state-${tone}`}>
          <Icon name={tone} size={13} />
        </span>
      )}
      <span ref={place}>{children}</span>
      <span class="state-tab-count">{count ? formatCount(count) : " "}</span>
    </Link>
  );
}

function total(counts: StateCounts): Count {
  const single = TABS.filter(({ tone }) => !OVERLAPPING.includes(tone)).map(
    ({ tone }) => counts[tone as keyof StateCounts],
  );
  return {
    value: single.reduce((sum, { value }) => sum + value, 0),
    capped: single.some(({ capped }) => capped),
  };
}
