import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";
import { Button } from "./button.tsx";
import type { IconName } from "./icon.tsx";

interface MenuProps {
  /** Accessible name of the button. */
  label: string;
  icon?: IconName;
  /** Text of the button, if it has one beside its icon. */
  text?: string;
  /** `MenuItem`s. */
  children: ComponentChildren;
}

/** Least distance of a menu from the left edge of the window, in pixels. */
const MARGIN = 8;

/** A button that opens a list of actions, in a popover that the browser closes. */
export function Menu({ label, icon = "more", text, children }: MenuProps) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const place = (button: HTMLElement) => {
    const { bottom, right } = button.getBoundingClientRect();
    list.current?.style.setProperty("top", `${bottom + 4}px`);
    list.current?.style.setProperty("right", `${document.documentElement.clientWidth - right}px`);
    list.current?.style.setProperty("max-height", `calc(100vh - ${bottom + 12}px)`);
  };
  // Its width is known once it is open: below a button at the left edge it would begin outside the window.
  const keepInside = (menu: HTMLElement) => {
    const { left, right } = menu.getBoundingClientRect();
    if (left < MARGIN)
      menu.style.setProperty("right", `${document.documentElement.clientWidth - right + left - MARGIN}px`);
  };
  return (
    <>
      <Button
        small
        kind="plain"
        icon={icon}
        label={label}
        popovertarget={id}
        onClick={(e) => place(e.currentTarget)}
      >
        {text}
      </Button>
      <div
        ref={list}
        id={id}
        popover="auto"
        class="menu"
        onToggle={({ currentTarget }) => keepInside(currentTarget)}
      >
        {children}
      </div>
    </>
  );
}

interface MenuItemProps {
  icon?: IconName;
  danger?: boolean;
  disabled?: boolean;
  onSelect(): void;
  children: ComponentChildren;
}

/** One action of a `Menu`. It closes the menu. */
export function MenuItem({ icon, danger = false, disabled = false, onSelect, children }: MenuItemProps) {
  return (
    <Button
      kind="plain"
      class={`menu-item${danger ? " menu-danger" : ""}`}
      {...(icon ? { icon } : {})}
      disabled={disabled}
      onClick={({ currentTarget }) => {
        currentTarget.closest<HTMLElement>("[popover]")?.hidePopover();
        onSelect();
      }}
    >
      {children}
    </Button>
  );
}
