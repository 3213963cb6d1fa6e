import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";
import { query, setQuery } from "../router/router.ts";

export interface Tab {
  key: string;
  title: ComponentChildren;
  content(): ComponentChildren;
}

interface TabsProps {
  label: string;
  tabs: readonly Tab[];
  /** Key of the tab that is open while the address names none. */
  first: string;
}

/** Tabs whose choice is in the address, as `?tab=`. Arrow keys move between them. */
export function Tabs({ label, tabs, first }: TabsProps) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const wanted = query.value.get("tab");
  const find = (name: string | null) => tabs.find(({ key }) => key === name);
  const current = find(wanted) ?? find(first) ?? tabs[0]!;
  const choose = ({ key }: Tab) => setQuery({ tab: key === first ? null : key }, { replace: true });
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const at = (tabs.indexOf(current) + step + tabs.length) % tabs.length;
    choose(tabs[at]!);
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[at]?.focus();
    event.preventDefault();
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={onKeyDown}>
        {tabs.map((tab) => (
          <button
            key={tab.key}
            type="button"
            role="tab"
            class="tab"
            id={`${id}-${tab.key}`}
            aria-selected={tab === current}
            aria-controls={`${id}-panel`}
            tabIndex={tab === current ? 0 : -1}
            onClick={() => choose(tab)}
          >
            {tab.title}
          </button>
        ))}
      </div>
      <div class="tab-panel" role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${current.key}`}>
        {current.content()}
      </div>
    </>
  );
}
