import { useSignal } from "@preact/signals";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { Icon } from "../../components/icon.tsx";
import { notify } from "../../components/notices.tsx";
import { Link } from "../../router/link.tsx";
import { pathTo } from "../../router/path.ts";
import { MOST_FILTERS, removeFilter, savedFilters, saveFilter } from "../../state/saved-filters.ts";

/** The filters that the user has saved, as links. Without one, nothing. */
export function SavedFilters({ q }: { q: string }) {
  const filters = savedFilters.value;
  if (filters.length === 0) return null;
  return (
    <nav class="saved-filters" aria-label="Saved filters">
      {filters.map(({ name, q: saved }) => (
        <span key={name} class="saved-filter">
          <Link
            to={pathTo("/runs", {}, { q: saved })}
            class="saved-filter-link"
            aria-current={saved === q ? "true" : undefined}
            title={saved}
          >
            <Icon name="star" size={12} />
            {name}
          </Link>
          <button
            type="button"
            class="saved-filter-remove"
            aria-label={`Remove the filter ${name}`}
            title="Remove"
            onClick={() => remove({ name, q: saved })}
          >
            <Icon name="close" size={10} />
          </button>
        </span>
      ))}
    </nav>
  );
}

function remove(filter: { name: string; q: string }): void {
  removeFilter(filter.name);
  notify(`Filter ${filter.name} removed.`, "done", { label: "Undo", act: () => saveFilter(filter) });
}

/** Saves the query of the list under a name. */
export function SaveFilterButton({ q }: { q: string }) {
  const open = useSignal(false);
  if (q === "" || savedFilters.value.some((filter) => filter.q === q)) return null;
  return (
    <>
      <Button
        small
        kind="plain"
        icon="star"
        label="Save this filter"
        onClick={() => {
          open.value = true;
        }}
      >
        Save
      </Button>
      {open.value && (
        <SaveDialog
          q={q}
          onClose={() => {
            open.value = false;
          }}
        />
      )}
    </>
  );
}

function SaveDialog({ q, onClose }: { q: string; onClose(): void }) {
  const text = useSignal("");
  const name = text.value.trim();
  const filters = savedFilters.value;
  const replaced = filters.find((filter) => filter.name === name);
  const full = filters.length >= MOST_FILTERS && !replaced;
  const submit = (event: Event) => {
    event.preventDefault();
    if (name === "" || full) return;
    saveFilter({ name, q });
    onClose();
  };
  return (
    <Dialog title="Save this filter" onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        <code class="saved-filter-query">{q}</code>
        <label class="field">
          <span>Name</span>
          <input
            class="input"
            autofocus
            maxLength={60}
            autocomplete="off"
            placeholder="Failed invoices"
            value={text.value}
            onInput={({ currentTarget }) => {
              text.value = currentTarget.value;
            }}
          />
        </label>
        <p class="muted">
          {full
            ? `At most ${MOST_FILTERS} filters are kept. Remove one first.`
            : replaced
              ? `This replaces the filter ${replaced.q}`
              : "It appears above the list and in the search of pages, in this browser only."}
        </p>
        <div class="dialog-actions">
          <Button onClick={onClose}>Back</Button>
          <Button type="submit" kind="primary" disabled={name === "" || full}>
            {replaced ? "Replace" : "Save"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
