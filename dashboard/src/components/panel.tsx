import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface PanelProps {
  title: string;
  /** Controls at the right of the title. */
  aside?: ComponentChildren;
  children: ComponentChildren;
  /** Contents that reach the border, such as a table. */
  flush?: boolean;
}

/** A titled part of a page. */
export function Panel({ title, aside, children, flush = false }: PanelProps) {
  const heading = useId();
  return (
    <section class="panel" aria-labelledby={heading}>
      <header class="panel-head">
        <h2 id={heading}>{title}</h2>
        {aside && <div class="panel-aside">{aside}</div>}
      </header>
      <div class={flush ? "panel-flush" : "panel-content"}>{children}</div>
    </section>
  );
}
