import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useId } from "preact/hooks";
import type { Problem } from "../../../../src/dashboard/api/contract.ts";
import { Button } from "../../components/button.tsx";
import { Icon } from "../../components/icon.tsx";
import { Key } from "../../components/key.tsx";
import { useKeys } from "../../keyboard/keys.ts";
import { accept, placeAt, type Suggestion, suggest } from "../../query/completion.ts";
import { useValues } from "../../query/use-values.ts";
import { QueryProblem } from "./query-problem.tsx";

interface QueryBarProps {
  inputRef: RefObject<HTMLInputElement | null>;
  value: string;
  /** Problem of the list: a wrong query is explained below the bar. */
  problem: Problem | null;
  onSearch(q: string): void;
}

const MOST_SUGGESTIONS = 12;

/** The search field of the list, with suggestions for fields and values. Enter searches; Tab takes a suggestion. */
export function QueryBar({ inputRef, value, problem, onSearch }: QueryBarProps) {
  const text = useSignal(value);
  const caret = useSignal(value.length);
  const open = useSignal(false);
  const chosen = useSignal(-1);
  const list = useId();
  useEffect(() => {
    text.value = value;
    caret.value = value.length;
  }, [value]);
  useKeys({ "/": () => inputRef.current?.focus() });

  const place = placeAt(text.value, caret.value);
  const looked = useValues(open.value ? place.field : null, place.prefix);
  const suggestions = open.value ? suggest(place, looked).slice(0, MOST_SUGGESTIONS) : [];
  const at = Math.min(chosen.value, suggestions.length - 1);

  const follow = (input: HTMLInputElement) => {
    text.value = input.value;
    caret.value = input.selectionStart ?? input.value.length;
    chosen.value = -1;
  };
  const take = ({ insert }: Suggestion) => {
    const next = accept(text.value, place, insert);
    text.value = next.query;
    caret.value = next.caret;
    chosen.value = -1;
    requestAnimationFrame(() => {
      inputRef.current?.focus();
      inputRef.current?.setSelectionRange(next.caret, next.caret);
    });
  };
  const search = (q: string) => {
    open.value = false;
    onSearch(q.trim());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0 && !open.value) open.value = true;
    else if (step !== 0) chosen.value = wrap(at + step, suggestions.length);
    else if (
      event.key === "Tab" &&
      !event.shiftKey &&
      suggestions.length > 0 &&
      (at >= 0 || place.prefix !== "")
    )
      take(suggestions[Math.max(at, 0)]!);
    else if (event.key === "Enter" && at >= 0) take(suggestions[at]!);
    else if (event.key === "Escape" && open.value) open.value = false;
    else if (event.key === "Escape") inputRef.current?.blur();
    else return;
    event.preventDefault();
  };

  return (
    <search class="query">
      <form
        class="query-form"
        onSubmit={(event) => {
          event.preventDefault();
          search(text.value);
        }}
      >
        <Icon name="search" />
        <input
          ref={inputRef}
          class="query-input"
          type="text"
          role="combobox"
          aria-label="Search runs"
          aria-expanded={suggestions.length > 0}
          aria-controls={list}
          aria-autocomplete="list"
          aria-activedescendant={at >= 0 ? `${list}-${at}` : undefined}
          aria-invalid={problem?.code === "INVALID_QUERY"}
          placeholder="state:failed job:send-* payload.customerId:4711 after:24h"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          value={text.value}
          onInput={({ currentTarget }) => {
            open.value = true;
            follow(currentTarget);
          }}
          onSelect={({ currentTarget }) => {
            caret.value = currentTarget.selectionStart ?? 0;
          }}
          onFocus={() => {
            open.value = true;
          }}
          onBlur={() => {
            open.value = false;
          }}
          onKeyDown={onKeyDown}
        />
        {text.value === "" ? (
          <Key name="/" />
        ) : (
          <Button small kind="plain" icon="close" label="Clear the search" onClick={() => search("")} />
        )}
      </form>
      {suggestions.length > 0 && (
        <Suggestions id={list} suggestions={suggestions} chosen={at} onTake={take} />
      )}
      {problem?.code === "INVALID_QUERY" && <QueryProblem q={value} problem={problem} />}
    </search>
  );
}

function wrap(index: number, length: number): number {
  return length === 0 ? -1 : (index + length) % length;
}

interface SuggestionsProps {
  id: string;
  suggestions: readonly Suggestion[];
  chosen: number;
  onTake(suggestion: Suggestion): void;
}

function Suggestions({ id, suggestions, chosen, onTake }: SuggestionsProps) {
  return (
    <div class="suggestions" role="listbox" id={id} aria-label="Suggestions">
      {suggestions.map((suggestion, index) => (
        <div
          key={suggestion.label}
          id={`${id}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === chosen}
          class="suggestion"
          // A click would take the focus from the field first, which closes the list.
          onMouseDown={(event) => {
            event.preventDefault();
            onTake(suggestion);
          }}
        >
          <code>{suggestion.label}</code>
          <span class="muted">{suggestion.detail}</span>
        </div>
      ))}
      <p class="suggestions-keys muted">
        <Key name="↓" /> <Key name="Tab" /> take <Key name="Enter" /> search
      </p>
    </div>
  );
}
