import type { FailureView, StackFrame } from "../../../src/dashboard/api/contract.ts";

/** Frames in the order of the stack: an own one alone, foreign ones that follow each other as a group. */
export type FrameGroup = { own: true; frame: StackFrame } | { own: false; frames: StackFrame[] };

export function groupFrames(frames: StackFrame[]): FrameGroup[] {
  const groups: FrameGroup[] = [];
  for (const frame of frames) {
    const last = groups.at(-1);
    if (frame.own) groups.push({ own: true, frame });
    else if (last !== undefined && !last.own) last.frames.push(frame);
    else groups.push({ own: false, frames: [frame] });
  }
  return groups;
}

/** Returns a group of foreign frames in words, such as "6 frames in node_modules". */
export function groupTitle(frames: StackFrame[]): string {
  const count = frames.length === 1 ? "1 frame" : `${frames.length} frames`;
  if (frames.every((frame) => frame.place.includes("node_modules"))) return `${count} in node_modules`;
  return frames.some((frame) => frame.place.includes("node_modules"))
    ? `${count} in node_modules and Node`
    : `${count} in Node`;
}

/** Returns the failure and its causes as text, as Node prints them. */
export function failureText(failure: FailureView): string {
  const parts: string[] = [];
  for (let at: FailureView | null = failure; at !== null; at = at.cause) {
    const head = `${at.name}: ${at.message}`;
    const frames = at.frames.map(({ call, place }) => `    at ${call === "" ? place : `${call} (${place})`}`);
    parts.push(at.stack ?? [head, ...frames].join("\n"));
  }
  return parts.join("\ncaused by: ");
}
