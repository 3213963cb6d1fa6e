import type { ButtonHTMLAttributes, ComponentChildren } from "preact";
import { Icon, type IconName } from "./icon.tsx";
import { Key } from "./key.tsx";

interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "icon" | "label"> {
  /** `plain` has no border; `danger` is for what cannot be undone. */
  kind?: "default" | "primary" | "danger" | "plain";
  icon?: IconName;
  /** Key that does the same, shown beside the text. */
  shortcut?: string;
  /** Accessible name of a button that has only an icon; also its tooltip. */
  label?: string;
  small?: boolean;
  children?: ComponentChildren;
}

export function Button({
  kind = "default",
  icon,
  shortcut,
  label,
  small,
  class: more,
  children,
  ...rest
}: ButtonProps) {
  const classes = [
    more,
    "button",
    `button-${kind}`,
    small && "button-small",
    children === undefined && "button-icon",
  ];
  return (
    <button
      type="button"
      class={classes.filter(Boolean).join(" ")}
      {...(shortcut ? { "aria-keyshortcuts": shortcut } : {})}
      {...(label ? { "aria-label": label, title: shortcut ? `${label} (${shortcut})` : label } : {})}
      {...rest}
    >
      {icon && <Icon name={icon} />}
      {children !== undefined && <span>{children}</span>}
      {shortcut && children !== undefined && <Key name={shortcut} />}
    </button>
  );
}
