import { useId } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { formatJson } from "./format.ts";
import { type JsonFault, parseJson } from "./parse.ts";

interface JsonInputProps {
  label: string;
  value: string;
  onChange(text: string): void;
  rows?: number;
}

/** Returns the fault of a text that is to be sent as JSON; an empty text is none: it sends no value. */
export function faultOf(text: string): JsonFault | null {
  return text.trim() === "" ? null : parseJson(text).fault;
}

/** An editor for JSON text. The text is sent as it is, so that integers of any size arrive unchanged. */
export function JsonInput({ label, value, onChange, rows = 10 }: JsonInputProps) {
  const message = useId();
  const fault = faultOf(value);
  const format = () => {
    const { node } = parseJson(value);
    if (node) onChange(formatJson(node));
  };
  return (
    <div class="field json-input">
      <div class="field-head">
        <label for={`${message}-text`}>{label}</label>
        <Button small kind="plain" disabled={fault !== null || value.trim() === ""} onClick={format}>
          Format
        </Button>
      </div>
      <textarea
        id={`${message}-text`}
        class="input mono"
        rows={rows}
        spellcheck={false}
        autocomplete="off"
        dir="ltr"
        value={value}
        aria-invalid={fault !== null}
        aria-describedby={message}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
      <p id={message} class={fault ? "field-fault" : "caption"} aria-live="polite">
        {fault ? `Line ${fault.line}, column ${fault.column}: ${fault.message}` : "Valid JSON"}
      </p>
    </div>
  );
}
