import { useRef } from "preact/hooks";
import type { RunDetail } from "../../../../src/dashboard/api/contract.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { type Tab, Tabs } from "../../components/tabs.tsx";
import { FailureView } from "../../failure/failure-view.tsx";
import { issueText } from "../../failure/issue.ts";
import { JsonView, loadPart } from "../../json/json-view.tsx";
import { JsonTree } from "../../json/tree.tsx";
import { overview } from "../../live/live.ts";
import { LogView } from "../../logs/log-view.tsx";
import { meta } from "../../state/meta.ts";
import { formatNumber } from "../../text/number.ts";

/** The data of a run: error, payload, result, logs, and everything as JSON. */
export function RunTabs({ run }: { run: RunDetail }) {
  // Chosen once: a run that ends must not take its log away from the reader.
  const first = useRef(run.state === "running" ? "logs" : run.failure === null ? "payload" : "error");
  const tabs: (Tab | false)[] = [
    run.failure !== null && {
      key: "error",
      title: "Error",
      content: () => (
        <FailureView failure={run.failure!} actions={run.state === "failed" && <CopyIssue run={run} />} />
      ),
    },
    {
      key: "payload",
      title: "Payload",
      content: () => (
        <JsonView value={run.args} none="It has no arguments." load={loadPart(run.id, "args")} />
      ),
    },
    {
      key: "result",
      title: "Result",
      content: () => (
        <JsonView
          value={run.result}
          none={run.finishedAt === null ? "It has not finished yet." : "The handler returned nothing."}
          load={loadPart(run.id, "result")}
        />
      ),
    },
    run.progressValue.json !== null && {
      key: "progress",
      title: "Progress",
      content: () => (
        <JsonView value={run.progressValue} none="No progress." load={loadPart(run.id, "progress")} />
      ),
    },
    logs(run),
    { key: "raw", title: "Raw", content: () => <Raw run={run} /> },
  ];
  return (
    <section class="panel" aria-label="Data of the run">
      <Tabs label="Data of the run" tabs={tabs.filter((tab) => tab !== false)} first={first.current} />
    </section>
  );
}

function CopyIssue({ run }: { run: RunDetail }) {
  const text = () => issueText(run, { meta: meta.value, versions: overview.value?.versions ?? null });
  return (
    <CopyButton text={text} label="Copy as issue, in Markdown">
      Copy as issue
    </CopyButton>
  );
}

function logs(run: RunDetail): Tab {
  return {
    key: "logs",
    title: (
      <>
        Logs <span class="muted">{formatNumber(run.logs)}</span>
      </>
    ),
    content: () => <LogView id={run.id} count={run.logs} running={run.state === "running"} />,
  };
}

/** The response of the API as it is. */
function Raw({ run }: { run: RunDetail }) {
  const text = JSON.stringify(run, null, 2);
  return (
    <div class="stack-tight">
      <div class="json-head">
        <span class="muted">
          The response of <code>GET api/v1/runs/{run.id}</code>
        </span>
        <CopyButton text={text} label="Copy JSON">
          Copy
        </CopyButton>
      </div>
      <JsonTree text={text} />
    </div>
  );
}
