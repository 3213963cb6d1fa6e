import type { AnchorHTMLAttributes, ComponentChildren } from "preact";
import { href, navigate } from "./router.ts";

interface LinkProps extends Omit<AnchorHTMLAttributes<HTMLAnchorElement>, "href" | "role"> {
  /** Path below the base, such as `/runs/42`. Build it with `pathTo` if it contains names. */
  to: string;
  children?: ComponentChildren;
}

/** A link to a page of the dashboard. Ctrl-click and middle click open a tab, as with any link. */
export function Link({ to, onClick, children, ...rest }: LinkProps) {
  return (
    <a
      {...rest}
      href={href(to)}
      onClick={(event) => {
        onClick?.(event);
        if (event.defaultPrevented || event.button !== 0) return;
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        navigate(to);
      }}
    >
      {children}
    </a>
  );
}
