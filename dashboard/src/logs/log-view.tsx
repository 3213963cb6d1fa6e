import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Problem } from "../../../src/dashboard/api/contract.ts";
import { request, toProblem } from "../api/client.ts";
import { Button } from "../components/button.tsx";
import { Choice } from "../components/choice.tsx";
import { CopyButton } from "../components/copy-button.tsx";
import { ProblemText } from "../components/problem.tsx";
import { Skeleton } from "../components/skeleton.tsx";
import { shownZone } from "../components/time.tsx";
import { paused } from "../live/live.ts";
import { formatNumber, plural } from "../text/number.ts";
import { visibleText } from "../text/visible.ts";
import { formatClock } from "../time/format.ts";
import { appendLines, attemptsOf, filterLines, type LogLine, linesText } from "./log-lines.ts";

/** Lines of one request, and lines that are rendered until the reader asks for more. */
const BATCH = 500;
const SHOWN = 1000;
/** How often a running run is asked for new lines: its worker writes them about once a second. */
const TAIL_EVERY = 1_000;

interface LogViewProps {
  id: number;
  /** Number of lines when the page read the run: a change means that there are new ones. */
  count: number;
  running: boolean;
}

/** The log of a run. While the run is running new lines appear; the view follows them unless the reader scrolled up. */
export function LogView({ id, count, running }: LogViewProps) {
  const lines = useSignal<LogLine[] | null>(null);
  const total = useSignal(count);
  const problem = useSignal<Problem | null>(null);
  const text = useSignal("");
  const attempt = useSignal<number | null>(null);
  const follow = useSignal(running);
  const most = useSignal(SHOWN);
  const box = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async () => {
      try {
        for (let more = true; more && !abort.signal.aborted; ) {
          const after = lines.peek()?.at(-1)?.position;
          const query = after === undefined ? { limit: BATCH } : { after, limit: BATCH };
          const page = await request("GET /runs/:id/logs", { params: { id }, query }, abort.signal);
          lines.value = appendLines(lines.peek() ?? [], page.lines);
          total.value = page.total;
          problem.value = null;
          more = page.lines.length === BATCH;
        }
      } catch (error) {
        if (!abort.signal.aborted) problem.value = toProblem(error);
      }
      // Chained, so that reads of a slow server do not pile up.
      if (running && !abort.signal.aborted) timer = setTimeout(tail, TAIL_EVERY);
    };
    const tail = () => {
      if (paused.peek() || document.hidden) timer = setTimeout(tail, TAIL_EVERY);
      else read();
    };
    read();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
    // A running run is read again and again anyway.
  }, [id, running, running ? 0 : count]);

  useLayoutEffect(() => {
    if (follow.value && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines.value, follow.value]);

  if (lines.value === null) {
    return problem.value ? <ProblemText problem={problem.value} /> : <Skeleton rows={4} />;
  }
  const found = filterLines(lines.value, { text: text.value, attempt: attempt.value });
  const attempts = attemptsOf(lines.value);
  const shown = found.slice(-most.value);
  const onScroll = () => {
    const { scrollTop, scrollHeight, clientHeight } = box.current!;
    follow.value = running && scrollTop + clientHeight >= scrollHeight - 4;
  };
  return (
    <div class="log">
      <div class="log-head">
        <input
          class="input"
          type="search"
          aria-label="Search the log"
          placeholder="Search the log"
          value={text.value}
          onInput={({ currentTarget }) => {
            text.value = currentTarget.value;
          }}
        />
        {attempts.length > 1 && (
          <Choice
            label="Attempt"
            value={attempt.value ?? 0}
            options={[
              { value: 0, label: "All" },
              ...attempts.map((number) => ({
                value: number,
                label: `#${number}`,
                title: `Attempt ${number}`,
              })),
            ]}
            onChange={(value) => {
              attempt.value = value === 0 ? null : value;
            }}
          />
        )}
        <span class="muted log-count">
          {found.length === total.value
            ? plural(total.value, "line")
            : `${formatNumber(found.length)} of ${plural(total.value, "line")}`}
        </span>
        {running && (
          <label class="check-line">
            <input
              type="checkbox"
              checked={follow.value}
              onChange={({ currentTarget }) => {
                follow.value = currentTarget.checked;
              }}
            />
            <span>Follow</span>
          </label>
        )}
        <CopyButton text={() => linesText(found)} label="Copy these lines">
          Copy
        </CopyButton>
      </div>
      {problem.value && <ProblemText problem={problem.value} />}
      <div
        class="log-lines"
        ref={box}
        onScroll={onScroll}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        tabIndex={0}
        role="log"
        aria-label="Log"
        aria-live="off"
      >
        {found.length > shown.length && (
          <Button
            small
            kind="plain"
            onClick={() => {
              most.value += SHOWN;
            }}
          >
            {`Show ${plural(Math.min(SHOWN, found.length - shown.length), "earlier line")}`}
          </Button>
        )}
        {shown.map((line) => (
          <Line key={line.position} line={line} />
        ))}
        {found.length === 0 && (
          <p class="muted">
            {lines.value.length === 0 ? "The handler has logged nothing." : "No line matches."}
          </p>
        )}
      </div>
    </div>
  );
}

function Line({ line }: { line: LogLine }) {
  return (
    <div class="log-line">
      <time dateTime={line.at} title={line.at}>
        {formatClock(Date.parse(line.at), shownZone(), { seconds: true })}
      </time>
      <span class="log-attempt" title={`Attempt ${line.attempt}`}>
        #{line.attempt}
      </span>
      <span class="log-text">
        <bdi>{visibleText(line.message)}</bdi>
        {line.data !== null && <bdi class="log-data">{visibleText(line.data)}</bdi>}
      </span>
    </div>
  );
}
