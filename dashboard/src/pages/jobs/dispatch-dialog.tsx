import { type Signal, useSignal } from "@preact/signals";
import type { DispatchRequest, JobDetail } from "../../../../src/dashboard/api/contract.ts";
import { request } from "../../api/client.ts";
import { Button } from "../../components/button.tsx";
import { CommandLine } from "../../components/copy-button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { ProblemText } from "../../components/problem.tsx";
import { useSubmit } from "../../components/use-submit.ts";
import { HIDDEN, openDispatched } from "../../dispatch/dispatched.ts";
import { prettyJson } from "../../json/format.ts";
import { faultOf, JsonInput } from "../../json/json-input.tsx";
import { quoteForShell } from "../../query/command.ts";
import { visibleText } from "../../text/visible.ts";

/** Dispatches a run of a job. The arguments of its last run are the example to start with. */
export function DispatchDialog({ job, onClose }: { job: JobDetail; onClose(): void }) {
  const args = useSignal(job.lastArgs === null ? "{}" : prettyJson(job.lastArgs));
  const delay = useSignal("");
  const key = useSignal("");
  const unique = useSignal("");
  const tags = useSignal("");
  const queue = useSignal("");
  const priority = useSignal("");
  const invalid = faultOf(args.value) !== null;
  const body = requestOf();
  const { busy, problem, onSubmit } = useSubmit(async () => {
    const result = await request("POST /jobs/:name/dispatch", { params: { name: job.name }, body });
    onClose();
    openDispatched(result);
  }, invalid);
  return (
    <Dialog title={`Dispatch ${visibleText(job.name)}`} size="wide" onClose={onClose}>
      <form class="stack" onSubmit={onSubmit}>
        <JsonInput
          label={
            job.lastArgs === null ? "Arguments as JSON" : "Arguments as JSON, at first those of the last run"
          }
          value={args.value}
          onChange={(text) => {
            args.value = text;
          }}
        />
        {args.value.includes(HIDDEN) && (
          <p class="warm">{`Secrets of the last run are hidden: write their values in place of ${HIDDEN}.`}</p>
        )}
        <div class="fields">
          <Field label="Delay" placeholder="none, or 5m" value={delay} />
          <Field label="Queue" placeholder={job.queue} value={queue} />
          <Field label="Priority" placeholder={String(job.priority)} value={priority} numeric />
          <Field label="Tags, by commas" placeholder="none" value={tags} />
          <Field label="Key" placeholder="none" value={key} />
          <Field label="Unique key" placeholder="none" value={unique} />
        </div>
        <CommandLine command={commandOf(body)} />
        {problem.value && <ProblemText problem={problem.value} />}
        <div class="dialog-actions">
          <Button onClick={onClose}>Close</Button>
          <Button type="submit" kind="primary" disabled={busy || invalid}>
            {busy ? "Dispatching…" : "Dispatch"}
          </Button>
        </div>
      </form>
    </Dialog>
  );

  function requestOf(): DispatchRequest {
    const tagList = tags.value.split(",").map((tag) => tag.trim());
    return {
      ...(args.value.trim() !== "" && { args: args.value }),
      ...(delay.value.trim() !== "" && { delay: delay.value.trim() }),
      ...(queue.value.trim() !== "" && { queue: queue.value.trim() }),
      ...(priority.value.trim() !== "" && { priority: Number(priority.value) }),
      ...(key.value !== "" && { key: key.value }),
      ...(unique.value !== "" && { unique: unique.value }),
      ...(tagList.some((tag) => tag !== "") && { tags: tagList.filter((tag) => tag !== "") }),
    };
  }

  function commandOf(asked: DispatchRequest): string {
    const line = asked.args === undefined ? undefined : oneLine(asked.args);
    const options: [string, string | number | undefined][] = [
      ["delay", asked.delay],
      ["queue", asked.queue],
      ["priority", asked.priority],
      ["key", asked.key],
      ["unique", asked.unique],
      ["tags", asked.tags?.join(",")],
    ];
    return [
      job.commands.dispatch,
      ...(line === undefined ? [] : [quoteForShell(line)]),
      ...options.flatMap(([name, value]) =>
        value === undefined ? [] : [`--${name} ${quoteForShell(String(value))}`],
      ),
    ].join(" ");
  }
}

interface FieldProps {
  label: string;
  placeholder: string;
  value: Signal<string>;
  numeric?: boolean;
}

function Field({ label, placeholder, value, numeric = false }: FieldProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        class="input"
        inputMode={numeric ? "numeric" : "text"}
        placeholder={placeholder}
        autocomplete="off"
        value={value.value}
        onInput={({ currentTarget }) => {
          value.value = currentTarget.value;
        }}
      />
    </label>
  );
}

/** JSON has no line breaks within strings, so that spaces at the begin of lines can go. */
function oneLine(json: string): string {
  return json.replace(/\s*\n\s*/g, "");
}
