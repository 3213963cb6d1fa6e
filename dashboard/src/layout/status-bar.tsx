import { useComputed } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { CopyButton } from "../components/copy-button.tsx";
import { Icon, type IconName } from "../components/icon.tsx";
import { Key } from "../components/key.tsx";
import { announce } from "../components/notices.tsx";
import { Sentence } from "../components/sentence.tsx";
import type { ConnectionStatus } from "../live/connection.ts";
import { database, overview, paused, polling, receivedAt, status, togglePause } from "../live/live.ts";
import { Link } from "../router/link.tsx";
import { nextZone, settings, type ZoneChoice } from "../state/settings.ts";
import { plural } from "../text/number.ts";
import { now, skew } from "../time/clock.ts";
import { formatAge, formatDuration, localZone } from "../time/format.ts";

const LEVELS = {
  healthy: { word: "Healthy", icon: "completed" },
  degraded: { word: "Degraded", icon: "late" },
  stalled: { word: "Stalled", icon: "failed" },
} as const satisfies Record<string, { word: string; icon: IconName }>;

/** The line below the header: health in one sentence, the state of the connection, pause and zone. */
export function StatusBar() {
  return (
    <section class="status-bar" aria-label="Health and live updates">
      <Health />
      <div class="status-tools">
        <LiveState />
        <Button small kind="plain" icon={paused.value ? "play" : "paused"} shortcut="p" onClick={togglePause}>
          {paused.value ? "Resume" : "Pause"}
        </Button>
        <ZoneButton />
      </div>
    </section>
  );
}

function Health() {
  const health = overview.value?.health;
  const sentence = health ? `${LEVELS[health.level].word}: ${health.sentences.join(" ")}` : "";
  useEffect(() => {
    if (sentence) announce(sentence);
  }, [sentence]);
  if (!health) {
    return (
      <div class="health muted">
        {database.value.available ? "Reading the state…" : "The state is unknown."}
      </div>
    );
  }
  const { word, icon } = LEVELS[health.level];
  const [first, ...more] = health.sentences;
  const command = health.level === "healthy" ? undefined : health.commands[0];
  return (
    <div class={`health health-${health.level}`}>
      <Icon name={icon} />
      <strong>{word}</strong>
      <span class="health-text" title={health.sentences.join("\n")}>
        {first && <Sentence>{first}</Sentence>}
        {more.length > 0 && (
          <>
            {" "}
            <Link to="/" class="health-more">
              and {plural(more.length, "more problem")}
            </Link>
          </>
        )}
      </span>
      {command && (
        <span class="health-command">
          <code>{command}</code>
          <CopyButton text={command} label="Copy command" />
        </span>
      )}
    </div>
  );
}

const MARKS: Record<ConnectionStatus, string> = {
  live: "●",
  reconnecting: "◌",
  offline: "○",
  paused: "⏸\ufe0e",
};

function LiveState() {
  // The stream may be open although the server's database is not.
  const state = status.value === "live" && !database.value.available ? "reconnecting" : status.value;
  const age = useComputed(() => formatAge(now.value - skew.value - receivedAt.value));
  return (
    <span
      class={`live live-${state}`}
      title={polling.value ? "Event streams do not pass: the page polls" : undefined}
    >
      <span class="live-mark" aria-hidden="true">
        {MARKS[state]}
      </span>
      <span>{state}</span>
      {overview.value && (
        <span class="muted" title="Age of the data">
          {" · "}
          {age}
        </span>
      )}
    </span>
  );
}

const ZONES: Record<ZoneChoice, string> = { local: "Local time", utc: "UTC", schedule: "Schedule's zone" };
/** A clock that differs by less is not worth a word. */
const SMALL_SKEW = 5_000;

function ZoneButton() {
  const { zone } = settings.value;
  const ahead = skew.value;
  const difference = `The database's clock is ${formatDuration(Math.abs(ahead))} ${ahead > 0 ? "ahead of" : "behind"} this computer's.`;
  return (
    <>
      {Math.abs(ahead) > SMALL_SKEW && (
        <span class="skew" title={`${difference} Times on this page follow the database.`}>
          clock {ahead > 0 ? "+" : "−"}
          {formatDuration(Math.abs(ahead))}
        </span>
      )}
      <button
        type="button"
        class="button button-plain button-small"
        title={`Times are shown in: ${zone === "local" ? localZone() : ZONES[zone]}. Change: z`}
        onClick={nextZone}
      >
        <span>{ZONES[zone]}</span>
        <Key name="z" />
      </button>
    </>
  );
}
