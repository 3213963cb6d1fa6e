import { CommandLine } from "../../components/copy-button.tsx";
import { Page } from "../../components/page.tsx";
import { Empty } from "../../components/problem.tsx";
import { Skeleton } from "../../components/skeleton.tsx";
import { database, overview } from "../../live/live.ts";
import { AttentionPanel } from "./attention-panel.tsx";
import { NextTicksPanel } from "./next-ticks-panel.tsx";
import { QueuesPanel } from "./queues-panel.tsx";
import { Tiles } from "./tiles.tsx";
import { TrendPanels } from "./trend-panels.tsx";
import { isUntouched, Welcome } from "./welcome.tsx";

/** Is anything wrong? The overview arrives by the event stream; only the charts are read. */
export function OverviewPage() {
  const data = overview.value;
  return (
    <Page title="Overview" hideTitle>
      {data === null ? (
        <section class="panel">{database.value.available ? <Skeleton rows={8} /> : <NoDatabase />}</section>
      ) : (
        <>
          {isUntouched(data) && <Welcome />}
          <Tiles tiles={data.tiles} />
          <TrendPanels />
          <div class="halves">
            <AttentionPanel items={data.attention} />
            <NextTicksPanel ticks={data.nextTicks} />
          </div>
          <QueuesPanel queues={data.queues} />
        </>
      )}
    </Page>
  );
}

function NoDatabase() {
  const isInstalled = !/punctual install/.test(database.value.detail ?? "");
  if (isInstalled) {
    return (
      <Empty icon="late" title="The database cannot be reached">
        The page fills as soon as the database answers.
      </Empty>
    );
  }
  return (
    <Empty icon="late" title="Not installed in this database">
      <p>Create the tables; the page then fills by itself.</p>
      <CommandLine command="punctual install" />
    </Empty>
  );
}
