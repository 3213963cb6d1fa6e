import type { ComponentChildren } from "preact";
import type { FailureView as Failure, StackFrame } from "../../../src/dashboard/api/contract.ts";
import { CopyButton } from "../components/copy-button.tsx";
import { shownPlace } from "../text/shown.ts";
import { visibleText } from "../text/visible.ts";
import { failureText, groupFrames, groupTitle } from "./frames.ts";

/** An error with its stack and causes. Frames of packages and of Node are folded. */
export function FailureView({ failure, actions }: { failure: Failure; actions?: ComponentChildren }) {
  return (
    <div class="failure">
      <Level failure={failure} />
      <div class="row">
        <CopyButton text={() => failureText(failure)} label="Copy error">
          Copy error
        </CopyButton>
        {actions}
      </div>
    </div>
  );
}

function Level({ failure, cause = false }: { failure: Failure; cause?: boolean }) {
  return (
    <div class="failure-level">
      <p class="failure-message">
        {cause && <span class="muted">caused by </span>}
        <strong>
          <bdi>{visibleText(failure.name)}</bdi>
        </strong>
        {": "}
        <bdi>{visibleText(failure.message)}</bdi>
        {failure.code && <code class="failure-code">{visibleText(failure.code)}</code>}
      </p>
      <Frames failure={failure} />
      {failure.cause && <Level failure={failure.cause} cause />}
    </div>
  );
}

function Frames({ failure }: { failure: Failure }) {
  if (failure.frames.length === 0) {
    const stack = failure.stack?.trim();
    return stack ? <pre class="failure-stack">{visibleText(stack)}</pre> : null;
  }
  return (
    <ol class="frames">
      {groupFrames(failure.frames).map((group, index) => (
        <li key={index}>
          {group.own ? (
            <Frame frame={group.frame} />
          ) : (
            <details>
              <summary>{groupTitle(group.frames)}</summary>
              {group.frames.map((frame, position) => (
                <Frame key={position} frame={frame} />
              ))}
            </details>
          )}
        </li>
      ))}
    </ol>
  );
}

function Frame({ frame }: { frame: StackFrame }) {
  return (
    <div class={frame.own ? "frame frame-own" : "frame"}>
      <span class="frame-call">
        <span class="muted">at </span>
        {visibleText(frame.call)}
      </span>
      <code class="frame-place">{shownPlace(frame.place)}</code>
      {frame.own && <span class="frame-mark">yours</span>}
    </div>
  );
}
