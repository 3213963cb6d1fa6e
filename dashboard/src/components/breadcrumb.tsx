import type { ComponentChildren } from "preact";

/** Links to the pages above this page, and its own name. */
export function Breadcrumb({
  children,
  aside,
}: {
  children: ComponentChildren[];
  aside?: ComponentChildren;
}) {
  return (
    <div class="breadcrumb">
      <nav aria-label="Breadcrumb">
        <ol>
          {children.map((child, index) => (
            <li key={index} {...(index === children.length - 1 ? { "aria-current": "page" } : {})}>
              {child}
            </li>
          ))}
        </ol>
      </nav>
      {aside && <div class="breadcrumb-aside">{aside}</div>}
    </div>
  );
}
