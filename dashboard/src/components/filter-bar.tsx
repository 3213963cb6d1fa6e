import { useRef } from "preact/hooks";
import { useKeys } from "../keyboard/keys.ts";
import { query, setQuery } from "../router/router.ts";

export interface Filter {
  text: string;
  set(text: string): void;
  /** Whether one of the texts contains the filter, in any case. */
  matches(...texts: (string | null)[]): boolean;
}

/** A filter over rows that the page has in full. It is part of the address, which can be shared. */
export function useFilter(): Filter {
  const text = query.value.get("filter") ?? "";
  const wanted = text.trim().toLowerCase();
  return {
    text,
    set: (value) => setQuery({ filter: value || null }, { replace: true }),
    matches: (...texts) => wanted === "" || texts.some((one) => one?.toLowerCase().includes(wanted)),
  };
}

/** The chosen one of groups, the first by default, as part of the address. */
export function useGroup<Group extends string>(
  groups: readonly Group[],
): { group: Group; onGroup(group: Group): void } {
  const chosen = query.value.get("show");
  return {
    group: groups.find((one) => one === chosen) ?? groups[0]!,
    onGroup: (group) => setQuery({ show: group === groups[0] ? null : group }, { replace: true }),
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
