import type { ComponentChildren } from "preact";
import { CopyButton } from "../components/copy-button.tsx";
import { Icon } from "../components/icon.tsx";
import { Time } from "../components/time.tsx";
import { database, overview, status } from "../live/live.ts";
import { VersionBanner } from "./version-banner.tsx";

/** Whether what the page shows may be out of date because the server or its database cannot be reached. */
export function isStale(): boolean {
  return !database.value.available || status.value === "offline";
}

/** Meaning of a problem of the database, and the command that helps. */
const CAUSES: Record<string, { text: string; command?: string }> = {
  NOT_INSTALLED: { text: "Punctual is not installed in this database", command: "punctual install" },
  SCHEMA_TOO_NEW: { text: "The database needs a newer version of this dashboard" },
  QUERY_TIMED_OUT: { text: "The database answers too slowly" },
};

/** Bars across the page about what concerns every page: the database or the server is down, or versions differ. */
export function Banners() {
  if (!database.value.available) return <DatabaseBanner />;
  if (status.value === "offline") {
    return (
      <Banner>
        Cannot reach the dashboard's server. {overview.value && "The page shows the last data. "}It retries by
        itself.
      </Banner>
    );
  }
  return <VersionBanner />;
}

function DatabaseBanner() {
  const { since, code, detail } = database.value;
  const { text, command } = CAUSES[code ?? ""] ?? { text: "Cannot reach the database" };
  return (
    <Banner>
      {text}
      {since && (
        <>
          {" since "}
          <Time at={since} as="short" />
        </>
      )}
      . {overview.value && "The page shows the last data. "}It retries by itself.
      {command && (
        <span class="banner-command">
          <code>{command}</code>
          <CopyButton text={command} label="Copy command" />
        </span>
      )}
      {detail && <span class="banner-detail"> {detail}</span>}
    </Banner>
  );
}

function Banner({ children }: { children: ComponentChildren }) {
  return (
    <div class="banner" role="alert">
      <Icon name="late" />
      <span>{children}</span>
    </div>
  );
}
