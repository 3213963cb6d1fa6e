import type { ComponentChildren } from "preact";
import type { LiveList } from "../api/live-list.ts";
import { useKeys } from "../keyboard/keys.ts";
import { setQuery } from "../router/router.ts";
import { formatNumber } from "../text/number.ts";
import { Button } from "./button.tsx";

interface NewRowsProps {
  list: Pick<LiveList<unknown, unknown>, "added" | "reload">;
  one: string;
  many: string;
}

/** The number of new rows, as a button that shows them. The key n does the same. */
export function NewRows({ list: { added, reload }, one, many }: NewRowsProps) {
  const { value, capped } = added;
  const show = () => {
    if (value === 0) return false;
    reload();
    scrollTo({ top: 0 });
    return true;
  };
  useKeys({ n: show });
  if (value === 0) return null;
  return (
    <div class="pill-place">
      <Button class="pill" icon="up" shortcut="n" onClick={show}>
        {`${formatNumber(value)}${capped ? "+" : ""} new ${value === 1 && !capped ? one : many} — show`}
      </Button>
    </div>
  );
}

/** Cursors of the pages that this visit has seen, by the cursor of the page behind: the way back. */
const newerPages = new Map<string, number | null>();

interface PagingProps {
  /** Identifies the contents of the list, without the position. */
  scope: string;
  before: number | null;
  next: number | null;
  children?: ComponentChildren;
}

/** Buttons to newer and older rows of a list whose place is in the address, as `?before=`. */
export function Paging({ scope, before, next, children }: PagingProps) {
  const keyOf = (place: number | null) => `${scope} ${place}`;
  const newer = newerPages.get(keyOf(before));
  const older = () => {
    newerPages.set(keyOf(next), before);
    setQuery({ before: next });
    scrollTo({ top: 0 });
  };
  return (
    <nav class="paging" aria-label="Pages of the list">
      {children}
      <span class="paging-buttons">
        {before !== null && newer !== null && newer !== undefined && (
          <Button small onClick={() => setQuery({ before: null })}>
            Newest
          </Button>
        )}
        <Button
          small
          icon="left"
          disabled={before === null}
          onClick={() => setQuery({ before: newer ?? null })}
        >
          {newer === undefined && before !== null ? "Newest" : "Newer"}
        </Button>
        <Button small icon="right" class="button-reverse" disabled={next === null} onClick={older}>
          Older
        </Button>
      </span>
    </nav>
  );
}
