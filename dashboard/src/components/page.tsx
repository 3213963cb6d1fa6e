import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { identity } from "../state/meta.ts";

interface PageProps {
  title: string;
  /** Shown above the title, such as a breadcrumb. */
  above?: ComponentChildren;
  /** Shown beside the title, such as a count or a state. */
  beside?: ComponentChildren;
  actions?: ComponentChildren;
  /** For a page whose title is clear from its contents: only screen readers get it. */
  hideTitle?: boolean;
  children: ComponentChildren;
}

/** The frame of a page: its heading, and the title of the tab. */
export function Page({ title, above, beside, actions, hideTitle = false, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · ${identity().title}`;
  }, [title]);
  return (
    <main id="main" class="page">
      {above}
      <div class={hideTitle ? "visually-hidden" : "page-head"}>
        <h1 tabIndex={-1}>{title}</h1>
        {beside}
        {actions && <div class="page-actions">{actions}</div>}
      </div>
      {children}
    </main>
  );
}
