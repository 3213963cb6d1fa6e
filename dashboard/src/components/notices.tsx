import { type Signal, signal } from "@preact/signals";
import { Icon } from "./icon.tsx";

type NoticeTone = "done" | "problem";

/** A button of a notice, such as one that undoes the action. */
interface NoticeAction {
  label: string;
  act(): void;
}

interface Notice {
  id: number;
  text: string;
  tone: NoticeTone;
  action: NoticeAction | undefined;
}

const SHOWN_FOR = 6_000;
/** Live counters are read aloud at most this often. */
const ANNOUNCE_EVERY = 10_000;

const notices: Signal<Notice[]> = signal([]);
const announcement: Signal<string> = signal("");
let lastId = 0;

/** Shows the result of an action for some seconds; screen readers read it. */
export function notify(text: string, tone: NoticeTone = "done", action?: NoticeAction): void {
  lastId += 1;
  const notice = { id: lastId, text, tone, action };
  notices.value = [...notices.value.slice(-3), notice];
  setTimeout(() => dismiss(notice.id), SHOWN_FOR);
}

function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}

let lastAnnounced = 0;
let waiting: ReturnType<typeof setTimeout> | undefined;

/** Lets screen readers read a change of live data, politely; of several within ten seconds, the last. */
export function announce(text: string): void {
  if (text === announcement.peek()) return;
  clearTimeout(waiting);
  const rest = lastAnnounced + ANNOUNCE_EVERY - Date.now();
  waiting = setTimeout(
    () => {
      lastAnnounced = Date.now();
      announcement.value = text;
    },
    Math.max(0, rest),
  );
}

/** Region of notices and announcements; once, at the end of the page. */
export function Notices() {
  return (
    <>
      <div class="notices" role="status">
        {notices.value.map(({ id, text, tone, action }) => (
          <div key={id} class={`notice notice-${tone}`}>
            <Icon name={tone === "done" ? "completed" : "late"} />
            <span>{text}</span>
            {action && (
              <button
                type="button"
                class="text-button"
                onClick={() => {
                  action.act();
                  dismiss(id);
                }}
              >
                {action.label}
              </button>
            )}
            <button type="button" class="notice-close" aria-label="Dismiss" onClick={() => dismiss(id)}>
              <Icon name="close" size={12} />
            </button>
          </div>
        ))}
      </div>
      <div class="visually-hidden" aria-live="polite">
        {announcement.value}
      </div>
    </>
  );
}
