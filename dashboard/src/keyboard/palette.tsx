import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { Dialog } from "../components/dialog.tsx";
import { Icon, type IconName } from "../components/icon.tsx";
import { PAGES } from "../pages.tsx";
import { useValues } from "../query/use-values.ts";
import { pathTo } from "../router/path.ts";
import { navigate } from "../router/router.ts";
import { savedFilters } from "../state/saved-filters.ts";

interface Entry {
  label: string;
  detail: string;
  icon: IconName;
  to: string;
}

const MOST_JOBS = 8;

/** Pages, saved filters, jobs, runs and batches by name or id: opened with ⌘K. */
export function Palette({ onClose }: { onClose(): void }) {
  const text = useSignal("");
  const chosen = useSignal(0);
  const jobs = useValues("job", text.value);
  const list = useId();
  const entries = entriesFor(text.value.trim(), jobs);
  const at = Math.min(chosen.value, entries.length - 1);
  const open = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    navigate(entry.to);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) chosen.value = (at + step + entries.length) % entries.length;
    else if (event.key === "Enter") open(entries[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        class="input palette-input"
        role="combobox"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={entries[at] ? `${list}-${at}` : undefined}
        aria-label="Page, job, or id of a run or batch"
        placeholder="Page, job, or id of a run or batch"
        autocomplete="off"
        autofocus
        value={text.value}
        onInput={({ currentTarget }) => {
          text.value = currentTarget.value;
          chosen.value = 0;
        }}
        onKeyDown={onKeyDown}
      />
      <div class="palette-list" role="listbox" id={list} aria-label="Results">
        {entries.map((entry, index) => (
          <div
            key={entry.to}
            id={`${list}-${index}`}
            role="option"
            tabIndex={-1}
            class="palette-entry"
            aria-selected={index === at}
            onMouseMove={() => {
              chosen.value = index;
            }}
            onClick={() => open(entry)}
            onKeyDown={onKeyDown}
          >
            <Icon name={entry.icon} />
            <span class="palette-label">{entry.label}</span>
            <span class="muted">{entry.detail}</span>
          </div>
        ))}
      </div>
    </Dialog>
  );
}

function entriesFor(text: string, jobs: readonly string[]): Entry[] {
  const wanted = text.toLowerCase();
  const id = /^#?(\d{1,15})$/.exec(text)?.[1];
  const pages = PAGES.filter(({ title }) => title.toLowerCase().includes(wanted)).map(
    ({ title, path }): Entry => ({ label: title, detail: "page", icon: "right", to: path }),
  );
  const matching = jobs.filter((job) => job.toLowerCase().includes(wanted)).slice(0, MOST_JOBS);
  const entries: Entry[] = [
    ...(id
      ? [
          { label: `Run ${id}`, detail: "run", icon: "play" as const, to: pathTo("/runs/:id", { id }) },
          {
            label: `Batch ${id}`,
            detail: "batch",
            icon: "ready" as const,
            to: pathTo("/batches/:id", { id }),
          },
        ]
      : []),
    ...pages,
    ...savedFilters.value
      .filter(({ name, q }) => `${name} ${q}`.toLowerCase().includes(wanted))
      .map(
        ({ name, q }): Entry => ({
          label: name,
          detail: "saved filter",
          icon: "star",
          to: pathTo("/runs", {}, { q }),
        }),
      ),
    ...matching.map(
      (job): Entry => ({
        label: job,
        detail: "job",
        icon: "worker",
        to: pathTo("/jobs/:name", { name: job }),
      }),
    ),
  ];
  if (text)
    entries.push({
      label: `Runs that match "${text}"`,
      detail: "search",
      icon: "search",
      to: pathTo("/runs", {}, { q: text }),
    });
  return entries;
}
