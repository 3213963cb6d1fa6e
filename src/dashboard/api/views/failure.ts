import type { Failure } from "../../../run/failure.ts";
import type { Redaction } from "../../../run/redaction.ts";
import type { FailureView, StackFrame } from "../contract.ts";

/** Most frames of one failure. */
const MOST_FRAMES = 50;

export function toFailureView(failure: Failure, redaction: Redaction): FailureView {
  const { name, message, code, stack, cause } = failure;
  const shown = stack === null ? null : redaction.text(stack);
  return {
    name,
    message: redaction.text(message),
    code,
    frames: framesOf(shown ?? ""),
    stack: shown,
    cause: cause && toFailureView(cause, redaction),
  };
}

/** Returns name and message of a failure for a list. */
export function toErrorHead(failure: Failure, redaction: Redaction): { name: string; message: string } {
  return { name: failure.name, message: redaction.text(failure.message) };
}

const FRAME = /^\s*at (?:(.*?) \()?(.*?)\)?$/;

export function framesOf(stack: string): StackFrame[] {
  return stack
    .split("\n")
    .filter((line) => /^\s*at /.test(line))
    .slice(0, MOST_FRAMES)
    .map((line) => {
      const [, call = "", place = ""] = FRAME.exec(line) ?? [];
      return { call: call.replace(/^async /, ""), place, own: isOwn(place) };
    });
}

function isOwn(place: string): boolean {
  const isFile = /^(file:\/\/|\/|[A-Za-z]:[\\/])/.test(place);
  return isFile && !/[\\/]node_modules[\\/]/.test(place);
}
