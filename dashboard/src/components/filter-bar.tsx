import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { useKeys } from "../keyboard/keys.ts";

export interface Filter {
  text: string;
  set(text: string): void;
  /** Whether one of the texts contains the filter, in any case. */
  matches(...texts: (string | null)[]): boolean;
}

/** A filter over rows that the page has in full. */
export function useFilter(): Filter {
  const text = useSignal("");
  const wanted = text.value.trim().toLowerCase();
  return {
    text: text.value,
    set: (value) => {
      text.value = value;
    },
    matches: (...texts) => wanted === "" || texts.some((one) => one?.toLowerCase().includes(wanted)),
  };
}

interface FilterBarProps<Group extends string> {
  filter: Filter;
  /** Accessible name of the input. */
  label: string;
  groups?: { value: Group; label: string; count: number }[];
  group?: Group;
  onGroup?(group: Group): void;
}

/** A text filter and groups with their sizes, above a table. Groups without rows are not offered. */
export function FilterBar<Group extends string>({
  filter,
  label,
  groups = [],
  group,
  onGroup,
}: FilterBarProps<Group>) {
  const input = useRef<HTMLInputElement>(null);
  useKeys({ "/": () => input.current?.focus() });
  const offered = groups.filter(({ value, count }, index) => index === 0 || count > 0 || value === group);
  return (
    <div class="filter-bar">
      <input
        ref={input}
        class="input"
        type="search"
        aria-label={label}
        placeholder={label}
        aria-keyshortcuts="/"
        value={filter.text}
        onInput={({ currentTarget }) => filter.set(currentTarget.value)}
      />
      {offered.length > 1 && (
        <fieldset class="groups" aria-label="Group">
          {offered.map(({ value, label: name, count }) => (
            <button
              key={value}
              type="button"
              class="group"
              aria-pressed={value === group}
              onClick={() => onGroup?.(value)}
            >
              {name} <span class="group-count">{count}</span>
            </button>
          ))}
        </fieldset>
      )}
    </div>
  );
}
