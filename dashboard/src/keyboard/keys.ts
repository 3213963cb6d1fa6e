import { useEffect, useRef } from "preact/hooks";
import { settings } from "../state/settings.ts";

/** Keys by name: `j`, `X` (shift-x), `Enter`, or a sequence such as `g r`. A handler that returns false did nothing. */
export type KeyMap = Record<string, (event: KeyboardEvent) => unknown>;

const SEQUENCE_WITHIN = 1_200;
const maps: KeyMap[] = [];
let prefix = "";
let prefixAt = 0;

/**
 * Handles keys while the component is shown. The map that was added last comes first; `fallback` comes after all
 * others, for keys of the whole page.
 */
export function useKeys(map: KeyMap, { fallback = false }: { fallback?: boolean } = {}): void {
  const current = useRef(map);
  current.current = map;
  useEffect(() => {
    const live: KeyMap = new Proxy({}, { get: (_, key: string) => current.current[key] });
    if (fallback) maps.unshift(live);
    else maps.push(live);
    return () => {
      maps.splice(maps.indexOf(live), 1);
    };
  }, [fallback]);
}

/** Whether the user writes, or a dialog has the keyboard. */
function isTaken(target: EventTarget | null): boolean {
  if (document.querySelector("dialog[open]")) return true;
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) && !isCheckbox(target)))
  );
}

function isCheckbox(target: HTMLElement): boolean {
  return target instanceof HTMLInputElement && target.type === "checkbox";
}

function handle(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  const modified = event.metaKey || event.ctrlKey || event.altKey;
  if (modified && !(event.key.toLowerCase() === "k" && !event.altKey && !event.shiftKey)) return;
  const key = modified ? "mod+k" : event.key;
  if (!modified) {
    if (isTaken(event.target)) return;
    if (key.length === 1 && !settings.value.singleKeys) return;
    // Enter and Space act on the focused element.
    if (key === " " || (key === "Enter" && event.target !== document.body)) return;
  }
  const sequence = prefix && event.timeStamp - prefixAt < SEQUENCE_WITHIN ? `${prefix} ${key}` : "";
  prefix = "";
  for (const name of sequence ? [sequence, key] : [key]) {
    for (const map of maps.toReversed()) {
      const handler = map[name];
      if (handler && handler(event) !== false) {
        event.preventDefault();
        return;
      }
    }
  }
  if (key === "g") {
    prefix = key;
    prefixAt = event.timeStamp;
  }
}

document.addEventListener("keydown", handle);
