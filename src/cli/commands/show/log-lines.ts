import type { LogLine } from "../../../run/info.ts";
import { plain } from "../../output/output.ts";
import { redact } from "../../output/redact.ts";
import type { Page } from "../../render/page.ts";
import { clock, day } from "../../render/times.ts";
import { cut, widthOf } from "../../render/width.ts";
import { wrap } from "../../render/wrap.ts";

/**
 * Renders a log entry: time, attempt if the run had several, message and data. The text wraps on a terminal; otherwise
 * the entry is always one line.
 */
export function logLines(
  line: LogLine,
  { raw, attempts, now }: { raw: boolean; attempts: boolean; now: number },
  page: Page,
): string[] {
  const isToday = page.width !== null && day(line.at, page.zone) === day(now, page.zone);
  const time = `${clock(line.at, page.zone)}.${String(line.at.getMilliseconds()).padStart(3, "0")}`;
  const when = isToday ? time : `${day(line.at, page.zone)} ${time}`;
  const head = `${when}  ${attempts ? `#${line.attempt}  ` : ""}`;
  const data = line.data === undefined ? "" : plain(JSON.stringify(raw ? line.data : redact(line.data)));
  const painted = page.paint("dim", head);
  if (page.width === null) return [`${painted}${plain(line.message)}${data && `  ${data}`}`];
  const room = Math.max(20, page.width - head.length);
  const text = wrap(line.message, room);
  const last = text.at(-1)!;
  const beside = room - widthOf(last) - 2;
  if (data !== "" && (widthOf(data) <= beside || last === "")) {
    text[text.length - 1] = `${last}${last && "  "}${page.paint("dim", shown(data, room))}`;
  } else if (data !== "") text.push(page.paint("dim", shown(data, room)));
  return text.map((one, index) => `${index === 0 ? painted : " ".repeat(head.length)}${one}`);

  function shown(text: string, width: number): string {
    return raw ? text : cut(text, width, page.icons.ellipsis);
  }
}

/** The JSON document of a log entry. */
export function logDocument(line: LogLine, raw: boolean): object {
  return { ...line, data: raw ? line.data : redact(line.data) };
}
