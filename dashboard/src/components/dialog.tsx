import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Button } from "./button.tsx";

interface DialogProps {
  title: string;
  /** Called when the dialog was closed: by Escape, by the button, or by a click beside it. */
  onClose(): void;
  children: ComponentChildren;
  /** Buttons at the bottom. */
  actions?: ComponentChildren;
  size?: "normal" | "wide";
}

/** A modal dialog, open as long as it is rendered. The browser keeps the focus inside and returns it afterwards. */
export function Dialog({ title, onClose, children, actions, size = "normal" }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    element.current?.showModal();
    return () => before?.focus?.({ preventScroll: true });
  }, []);
  return (
    <dialog
      ref={element}
      class={`dialog dialog-${size}`}
      aria-labelledby={heading}
      onClose={onClose}
      onMouseDown={(event) => event.target === element.current && element.current?.close()}
    >
      <div class="dialog-body">
        <header class="dialog-head">
          <h2 id={heading}>{title}</h2>
          <Button kind="plain" icon="close" label="Close" onClick={() => element.current?.close()} />
        </header>
        <div class="dialog-content">{children}</div>
        {actions && <footer class="dialog-actions">{actions}</footer>}
      </div>
    </dialog>
  );
}
