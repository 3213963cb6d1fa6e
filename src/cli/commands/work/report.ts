import type { EventName, Events } from "../../../events/events.ts";
import type { Punctual } from "../../../punctual.ts";
import type { Failure } from "../../../run/failure.ts";
import { encodeLogData } from "../../../run/log-data.ts";
import { DEFAULT_MAX_PAYLOAD } from "../../../run/payload.ts";
import { redact } from "../../../run/redact.ts";
import { systemClock } from "../../../time.ts";
import { type Output, plain, type Style } from "../../output/output.ts";
import { clock, duration } from "../../render/formats.ts";
import { iconsFor } from "../../render/icons.ts";
import type { Page } from "../../render/page.ts";
import { cut, widthOf } from "../../render/width.ts";

interface EventLook {
  word: string;
  style: Style;
  /** Whether the line is printed with `--quiet` too. */
  bad?: boolean;
  /** Whether the line is printed on a terminal only. */
  live?: boolean;
  why?(event: never): string;
}

function reasonOf({ error: { name, message } }: { error: Failure }): string {
  const first = message.split("\n")[0] ?? "";
  // Messages of PunctualError are whole sentences.
  return name === "PunctualError" ? first : `${name}: ${first}`;
}

function afterCrash({ state }: Events["run.reaped"]): string {
  if (state === "ready") return "its process ended, it will run again";
  return state === "failed"
    ? "its process ended too often, it has failed"
    : "its process ended, it is cancelled";
}

/** The word, style and reason printed for each event of a run. */
const WORDS: Partial<Record<EventName, EventLook>> = {
  "run.started": { word: "RUNNING", style: "dim", live: true },
  "run.completed": { word: "DONE", style: "green" },
  "run.retried": {
    word: "FAIL",
    style: "yellow",
    bad: true,
    why: (event: Events["run.retried"]) =>
      `${reasonOf(event)} ${iconsFor().arrow} retry in ${duration(event.delay)}`,
  },
  "run.failed": { word: "FAIL", style: "red", bad: true, why: reasonOf },
  "run.skipped": { word: "SKIPPED", style: "dim", why: ({ reason }: Events["run.skipped"]) => reason ?? "" },
  "run.cancelled": {
    word: "CANCELLED",
    style: "yellow",
    why: ({ reason }: Events["run.cancelled"]) => reason ?? "",
  },
  "run.snoozed": {
    word: "SNOOZED",
    style: "dim",
    why: ({ delay, slowedDown }: Events["run.snoozed"]) =>
      slowedDown ? `its rate is closed for ${duration(delay)}` : `again in ${duration(delay)}`,
  },
  "run.released": { word: "RELEASED", style: "yellow", why: () => "released, it will run again" },
  "run.lost": {
    word: "LOST",
    style: "red",
    bad: true,
    why: ({ reason }: Events["run.lost"]) =>
      reason === "lease"
        ? "its lease was lost; its outcome was discarded"
        : "the database did not answer; its outcome was not written",
  },
  "run.reaped": { word: "CRASHED", style: "red", bad: true, why: afterCrash },
  "run.logged": {
    word: "LOG",
    style: "dim",
    why: ({ message, data }: Events["run.logged"]) =>
      data === undefined ? message : `${message} ${JSON.stringify(showable(data))}`,
  },
};

/** Returns the data of a log line, which may be any value, as JSON without secrets. */
function showable(data: unknown): unknown {
  return redact(JSON.parse(encodeLogData(data, DEFAULT_MAX_PAYLOAD) ?? "null"));
}

type RunEvent = Events["run.started"] & { duration?: number; crashed?: boolean };

/** Prints one line for each event of a run, for people. */
export function reportLines(jobs: Punctual, output: Output, page: Page): void {
  for (const [event, look] of Object.entries(WORDS) as [EventName, EventLook][]) {
    if (look.live && page.width === null) continue;
    if (!look.bad && output.isQuiet) continue;
    jobs.on(event, (details) => {
      const run = details as unknown as RunEvent;
      // A run that never started has no start line to complete.
      if ((event === "run.released" && run.duration === 0) || run.crashed === false) return;
      output.print(line(run, look, page));
    });
  }
}

const LONGEST_NAME = 24;
/** Fewest dots of a leader line. */
const FEWEST_DOTS = 3;
/** Indentation of a reason on its own line: below the name. */
const BELOW = 10;

function line(run: RunEvent, { word, style, why }: EventLook, page: Page): string {
  const attempt = run.attempt > 1 ? `  attempt ${run.attempt}` : "";
  const took = run.duration === undefined ? "" : duration(run.duration).padStart(7);
  const reason = plain(why?.(run as never) ?? "");
  if (page.width === null) {
    const at = new Date(systemClock.now()).toISOString();
    const parts = [at, word, plain(run.name), `#${run.id}`, attempt.trim(), took.trim(), reason];
    return parts.filter((part) => part !== "").join(" ");
  }
  const name = cut(plain(run.name), LONGEST_NAME, page.icons.ellipsis).padEnd(16);
  const left = `${clock(systemClock.now(), page.zone)}  ${name}  #${run.id}${attempt}`;
  const end = `${took}  ${word}`;
  const room = page.width - widthOf(left) - widthOf(end) - FEWEST_DOTS - 4;
  const fits = widthOf(reason) <= room;
  const full = leaderLine(left, reason !== "" && fits ? `${end}  ${reason}` : end, page);
  const at = full.lastIndexOf(`  ${word}`) + 2;
  const painted = at < 2 ? full : full.slice(0, at) + page.paint(style, word) + full.slice(at + word.length);
  return fits
    ? painted
    : `${painted}\n${" ".repeat(BELOW)}${cut(reason, page.width - BELOW, page.icons.ellipsis)}`;
}

const STREAMED: EventName[] = [
  "worker.started",
  ...(Object.keys(WORDS) as EventName[]),
  "schedule.ticked",
  "worker.paused",
  "worker.resumed",
  "worker.stopping",
  "worker.stopped",
];

/** Prints one JSON object for each event, for programs. */
export function reportJson(jobs: Punctual, output: Output): void {
  for (const event of STREAMED) {
    if (output.isQuiet && !WORDS[event]?.bad) continue;
    jobs.on(event, (details) => {
      const {
        id,
        name,
        duration,
        delay,
        result: _,
        data,
        error,
        ...rest
      } = details as unknown as Record<string, unknown>;
      const document = {
        v: 1,
        t: new Date(systemClock.now()).toISOString(),
        event,
        ...(name !== undefined && { job: name }),
        ...(id !== undefined && { run: id }),
        ...rest,
        ...(data !== undefined && { data: showable(data) }),
        ...(duration !== undefined && { ms: Math.round(duration as number) }),
        ...(delay !== undefined && { delayMs: delay }),
        ...(error !== undefined && { error }),
      };
      output.jsonLine(document);
    });
  }
}

/** Width of a line when the output is not a terminal. */
const ASSUMED_WIDTH = 100;

/** `left ........ right`, as wide as the page; if there is no room, `left` is cut. */
export function leaderLine(left: string, right: string, page: Page): string {
  const end = plain(right);
  const width = page.width ?? ASSUMED_WIDTH;
  const room = width - widthOf(end) - FEWEST_DOTS - 2;
  const start = page.width === null ? plain(left) : cut(plain(left), Math.max(0, room), page.icons.ellipsis);
  const dots = Math.max(FEWEST_DOTS, width - widthOf(start) - widthOf(end) - 2);
  const line = `${start} ${page.paint("dim", ".".repeat(dots))} `;
  return (
    line +
    (page.width === null
      ? end
      : cut(end, Math.max(0, width - widthOf(start) - dots - 2), page.icons.ellipsis))
  );
}
