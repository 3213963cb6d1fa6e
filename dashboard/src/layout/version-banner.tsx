import { useSignal } from "@preact/signals";
import type { VersionsView } from "../../../src/dashboard/api/contract.ts";
import { Button } from "../components/button.tsx";
import { Icon } from "../components/icon.tsx";
import { overview } from "../live/live.ts";
import { Link } from "../router/link.tsx";
import { identity } from "../state/meta.ts";
import { plural } from "../text/number.ts";

/** A bar that names the versions of page, dashboard, workers and schema where they differ. */
export function VersionBanner() {
  const hidden = useSignal("");
  const versions = overview.value?.versions;
  if (!versions) return null;
  const key = JSON.stringify(versions);
  if (!versions.writable) {
    return (
      <div class="banner" role="alert">
        <Icon name="late" />
        <span>
          <strong>Actions are disabled.</strong> <SchemaText versions={versions} /> Update punctual in the
          process that serves this dashboard.
        </span>
      </div>
    );
  }
  if (hidden.value === key || !differs(versions)) return null;
  return (
    <div class="banner banner-mild" role="status">
      <Icon name="info" />
      <span>
        <strong>Versions differ.</strong> This dashboard is {versions.dashboard || "of an unknown version"}
        {pageVersion() !== versions.dashboard && `, the open page ${pageVersion()}`}
        {versions.workers.map(({ version, count }) => (
          <span key={version}>
            , <Link to="/workers">{plural(count, "worker")}</Link> {version ?? "too old to report a version"}
          </span>
        ))}
        . {versions.schema.found !== versions.schema.known && <SchemaText versions={versions} />} All of them
        can use the database.
      </span>
      <span class="banner-actions">
        {pageVersion() !== versions.dashboard && (
          <Button small onClick={() => location.reload()}>
            Reload
          </Button>
        )}
        <Button
          small
          kind="plain"
          icon="close"
          label="Hide this bar"
          onClick={() => {
            hidden.value = key;
          }}
        />
      </span>
    </div>
  );
}

function SchemaText({ versions: { schema } }: { versions: VersionsView }) {
  return (
    <>
      The database is at schema {schema.found}; this dashboard knows schemas up to {schema.known}.
    </>
  );
}

/** Version of the bundle that this tab has loaded, perhaps before a deployment. */
function pageVersion(): string {
  return identity().version;
}

function differs({ dashboard, workers, schema }: VersionsView): boolean {
  if (schema.found !== schema.known || pageVersion() !== dashboard) return true;
  // A bundled program does not know its version.
  return dashboard !== "" && workers.some(({ version }) => version !== dashboard);
}
