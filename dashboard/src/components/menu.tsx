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

/** A button that opens a list of actions, in a popover that the browser closes. */
export function Menu({ label, icon = "more", text, children }: MenuProps) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const place = (button: HTMLElement) => {
    const { bottom, right } = button.getBoundingClientRect();
    list.current?.style.setProperty("top", `${bottom + 4}px`);
    list.current?.style.setProperty("right", `${document.documentElement.clientWidth - right}px`);
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
      <div ref={list} id={id} popover="auto" class="menu">
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
