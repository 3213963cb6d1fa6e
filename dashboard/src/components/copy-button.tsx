import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { Button } from "./button.tsx";
import { copyText } from "./copy.ts";
import { notify } from "./notices.tsx";

interface CopyButtonProps {
  text: string | (() => string);
  /** Accessible name, such as "Copy command". */
  label: string;
  children?: ComponentChildren;
}

export function CopyButton({ text, label, children }: CopyButtonProps) {
  const copied = useSignal(false);
  const copy = async () => {
    copied.value = await copyText(typeof text === "string" ? text : text());
    if (!copied.value) notify("The browser refused to copy.", "problem");
    setTimeout(() => {
      copied.value = false;
    }, 1_500);
  };
  return (
    <Button small kind="plain" icon={copied.value ? "completed" : "copy"} label={label} onClick={copy}>
      {children}
    </Button>
  );
}

/** A command line with a button that copies it: what the page does can also be typed. */
export function CommandLine({ command }: { command: string }) {
  return (
    <div class="command">
      <code>
        <span class="command-prompt" aria-hidden="true">
          ${" "}
        </span>
        {command}
      </code>
      <CopyButton text={command} label="Copy command" />
    </div>
  );
}
