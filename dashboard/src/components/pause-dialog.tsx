import { useSignal } from "@preact/signals";
import type { PauseRequest, PauseView } from "../../../src/dashboard/api/contract.ts";
import { quoteForShell } from "../query/command.ts";
import { Button } from "./button.tsx";
import { ConfirmDialog } from "./confirm-dialog.tsx";
import { Name } from "./names.tsx";
import { notify } from "./notices.tsx";
import { perform } from "./perform.ts";
import { Time } from "./time.tsx";

interface PauseDialogProps {
  /** Kind and name, such as `queue "mail"`. */
  what: string;
  /** The effect, in one sentence. */
  children: string;
  command: string;
  /** Whether the pause can end by itself. */
  timed?: boolean;
  /** The action. Default: `Pause`. */
  verb?: keyof typeof ENDS;
  pause(request: PauseRequest): Promise<{ message: string }>;
  onDone(): void;
  onClose(): void;
}

interface PauseButtonProps extends Omit<PauseDialogProps, "command" | "pause" | "onClose"> {
  paused: boolean;
  /** Words of the command line behind the verb, such as `queue mail`. */
  target: string;
  /** Sends the request of the action, whose route is the same but for the last segment. */
  send(action: "pause" | "resume", body: PauseRequest): Promise<{ message: string }>;
  look?: { small: true; kind: "plain" };
}

/** A button that pauses, after a dialog, or resumes. */
export function PauseButton({ paused, target, send, look, ...dialog }: PauseButtonProps) {
  const asked = useSignal(false);
  return (
    <>
      <Button
        {...look}
        icon={paused ? "play" : "paused"}
        onClick={() => {
          if (paused) perform(send("resume", {}), dialog.onDone, `punctual resume ${target}`);
          else asked.value = true;
        }}
      >
        {paused ? "Resume" : "Pause…"}
      </Button>
      {asked.value && (
        <PauseDialog
          {...dialog}
          command={`punctual pause ${target}`}
          pause={(body) => send("pause", body)}
          onClose={() => {
            asked.value = false;
          }}
        />
      )}
    </>
  );
}

/** Durations of a pause that the form offers. */
const SPANS = ["15m", "1h", "4h", "1d", "7d"];

const ENDS = { Pause: "Resume by itself after", Mute: "End by itself after", Stop: "" };

/** Asks for the reason and the length of a pause or a mute, or for the reason of a stop. */
export function PauseDialog(props: PauseDialogProps) {
  const { what, children, command, timed, verb = "Pause", pause, onDone, onClose } = props;
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
      title={`${verb} ${what}?`}
      confirm={verb}
      danger={verb === "Stop"}
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
          <span>{ENDS[verb]}</span>
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

/** Shows who paused or muted it, why, since when and until when. */
export function PauseNote({ pause, word = "paused" }: { pause: PauseView; word?: string }) {
  return (
    <span class="pause-note">
      {word} {pause.by !== null && <Name>{`by ${pause.by} `}</Name>}
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
