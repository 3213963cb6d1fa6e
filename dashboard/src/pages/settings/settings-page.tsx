import type { ComponentChildren } from "preact";
import type { Meta } from "../../../../src/dashboard/api/contract.ts";
import { useResource } from "../../api/resource.ts";
import { Choice } from "../../components/choice.tsx";
import { Facts } from "../../components/facts.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { Page } from "../../components/page.tsx";
import { Panel } from "../../components/panel.tsx";
import { paused, togglePause } from "../../live/live.ts";
import { Link } from "../../router/link.tsx";
import { meta } from "../../state/meta.ts";
import { change, PAGE_SIZES, settings } from "../../state/settings.ts";
import { skew } from "../../time/clock.ts";
import { formatDuration, localZone } from "../../time/format.ts";

/** Settings of this browser, and how the server is set up. */
export function SettingsPage() {
  const read = useResource("GET /meta", {}, { live: false });
  // The page got these settings with its HTML; the response is newer.
  const resource = { ...read, data: read.data ?? meta.value };
  return (
    <Page title="Settings">
      <div class="columns">
        <div class="stack">
          <BrowserSettings />
        </div>
        <div class="stack">
          <Loaded resource={resource} rows={5}>
            {(current) => <ServerSettings meta={current} />}
          </Loaded>
        </div>
      </div>
    </Page>
  );
}

function BrowserSettings() {
  const { theme, zone, pageSize, density, singleKeys } = settings.value;
  return (
    <Panel title="This browser">
      <div class="settings">
        <Setting
          name="Theme"
          value={theme}
          options={{ system: "System", light: "Light", dark: "Dark" }}
          onChange={(value) => change({ theme: value })}
        />
        <Setting
          name="Times"
          note="Schedules have a zone of their own; other times are shown in the local one then."
          value={zone}
          options={{ local: `Local (${localZone()})`, utc: "UTC", schedule: "Schedule's" }}
          onChange={(value) => change({ zone: value })}
        />
        <Setting
          name="Live updates"
          note="A paused page sends no requests by itself."
          value={paused.value ? "paused" : "live"}
          options={{ live: "Live", paused: "Paused" }}
          onChange={(value) => {
            if ((value === "paused") !== paused.value) togglePause();
          }}
        />
        <Setting
          name="Rows per page"
          value={`${pageSize}`}
          options={Object.fromEntries(PAGE_SIZES.map((size) => [size, `${size}`]))}
          onChange={(value) => change({ pageSize: Number(value) as typeof pageSize })}
        />
        <Setting
          name="Density"
          value={density}
          options={{ comfortable: "Comfortable", compact: "Compact" }}
          onChange={(value) => change({ density: value })}
        />
        <Setting
          name="Shortcuts of one letter"
          note="Switch them off if you use speech input. ? lists them."
          value={singleKeys ? "on" : "off"}
          options={{ on: "On", off: "Off" }}
          onChange={(value) => change({ singleKeys: value === "on" })}
        />
      </div>
    </Panel>
  );
}

interface SettingProps<Value extends string> {
  name: string;
  note?: string;
  value: Value;
  /** Labels of the values. */
  options: Record<Value, string>;
  onChange(value: Value): void;
}

function Setting<Value extends string>({ name, note, value, options, onChange }: SettingProps<Value>) {
  const labels = Object.entries(options) as [Value, string][];
  return (
    <div class="setting">
      <div>
        <p>{name}</p>
        {note && <p class="caption">{note}</p>}
      </div>
      <Choice
        label={name}
        value={value}
        options={labels.map(([one, label]) => ({ value: one, label }))}
        onChange={onChange}
      />
    </div>
  );
}

function ServerSettings({ meta: current }: { meta: Meta }) {
  const { database, user } = current;
  const named = Object.entries(current.settings);
  return (
    <>
      <Panel title="You" aside={<Link to="/audit">Audit trail</Link>}>
        <Facts
          facts={[
            ["User", user.name ?? "not signed in"],
            ["Role", user.role],
            ["Writes", current.readOnly && "disabled: this dashboard is read-only"],
          ]}
        />
      </Panel>
      <Panel title="Server">
        <Facts
          facts={[
            ["Punctual", current.version],
            ["Environment", current.environment],
            ["Database", `${database.kind}${database.version === null ? "" : ` ${database.version}`}`],
            ["Schema", database.schema === null ? <span class="hot">not installed</span> : database.schema],
            ["Server's clock", clockText(current.clockSkew, "the database's")],
            ["This computer's clock", clockText(-skew.value, "the database's")],
          ]}
        />
      </Panel>
      {named.length > 0 && (
        <Panel title="Configuration">
          <Facts facts={named.map(([name, value]) => [name, <code>{value}</code>])} />
        </Panel>
      )}
    </>
  );
}

/** Differences below a second are those of the network. */
const NOISE = 1_000;

function clockText(ahead: number, of: string): ComponentChildren {
  if (Math.abs(ahead) < NOISE) return `as ${of}`;
  return (
    <span class="warm">
      {formatDuration(Math.abs(ahead))} {ahead > 0 ? "ahead of" : "behind"} {of}
    </span>
  );
}
