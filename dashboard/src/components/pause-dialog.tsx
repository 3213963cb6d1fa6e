import { useSignal } from "@preact/signals";
import type { PauseRequest, PauseView } from "../../../src/dashboard/api/contract.ts";
import { quoteForShell } from "../query/command.ts";
import { ConfirmDialog } from "./confirm-dialog.tsx";
import { Name } from "./names.tsx";
import { notify } from "./notices.tsx";
import { Time } from "./time.tsx";

interface PauseDialogProps {
  /** Kind and name, such as `queue "mail"`. */
  what: string;
  /** The effect, in one sentence. */
  children: string;
  command: string;
  /** Whether the pause can end by itself. */
  timed?: boolean;
  pause(request: PauseRequest): Promise<{ message: string }>;
  onDone(): void;
  onClose(): void;
}

/** Durations of a pause that the form offers. */
const SPANS = ["15m", "1h", "4h", "1d"];

/** Asks for the reason and the length of a pause. */
export function PauseDialog({ what, children, command, timed, pause, onDone, onClose }: PauseDialogProps) {
  const reason = useSignal("");
  const span = useSignal("");
  const act = async () => {
    const request: PauseRequest = {};
    if (reason.value.trim() !== "") request.reason = reason.value.trim();
    if (timed && span.value.trim() !== "") request.for = span.value.trim();
    notify((await pause(request)).message);
    onDone();
  };
  return (
    <ConfirmDialog
      title={`Pause ${what}?`}
      confirm="Pause"
      command={withOptions()}
      act={act}
      onClose={onClose}
    >
      <p>{children}</p>
      <label class="field">
        <span>Reason, which everyone sees</span>
        <input
          class="input"
          maxLength={200}
          autofocus
          value={reason.value}
          onInput={({ currentTarget }) => {
            reason.value = currentTarget.value;
          }}
        />
      </label>
      {timed && (
        <label class="field">
          <span>Resume by itself after</span>
          <input
            class="input"
            list="pause-spans"
            placeholder="never"
            value={span.value}
            onInput={({ currentTarget }) => {
              span.value = currentTarget.value;
            }}
          />
          <datalist id="pause-spans">
            {SPANS.map((value) => (
              <option key={value} value={value} />
            ))}
          </datalist>
        </label>
      )}
    </ConfirmDialog>
  );

  function withOptions(): string {
    const options = [
      timed && span.value.trim() !== "" ? ` --for ${quoteForShell(span.value.trim())}` : "",
      reason.value.trim() !== "" ? ` --reason ${quoteForShell(reason.value.trim())}` : "",
    ];
    return command + options.join("");
  }
}

/** Who paused it, why, since when and until when. */
export function PauseNote({ pause }: { pause: PauseView }) {
  return (
    <span class="pause-note">
      paused {pause.by !== null && <Name>{`by ${pause.by} `}</Name>}
      <Time at={pause.since} />
      {pause.until !== null && (
        <>
          {", until "}
          <Time at={pause.until} as="short" />
        </>
      )}
      {pause.reason !== null && (
        <>
          {": "}
          <Name>{pause.reason}</Name>
        </>
      )}
    </span>
  );
}
