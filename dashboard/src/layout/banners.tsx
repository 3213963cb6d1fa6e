import { Icon } from "../components/icon.tsx";
import { Time } from "../components/time.tsx";
import { database, overview, status } from "../live/live.ts";

/** Whether what the page shows may be out of date because the server or its database cannot be reached. */
export function isStale(): boolean {
  return !database.value.available || status.value === "offline";
}

/** Bars across the page about what concerns every page: the database or the server is down. */
export function Banners() {
  if (!database.value.available) {
    return (
      <div class="banner" role="alert">
        <Icon name="late" />
        <span>
          Cannot reach the database{" "}
          {database.value.since && (
            <>
              since <Time at={database.value.since} as="short" />
            </>
          )}
          . {overview.value && "The page shows the last data. "}It retries by itself.
          {database.value.detail && <span class="banner-detail"> {database.value.detail}</span>}
        </span>
      </div>
    );
  }
  if (status.value === "offline") {
    return (
      <div class="banner" role="alert">
        <Icon name="late" />
        <span>
          Cannot reach the dashboard's server. {overview.value && "The page shows the last data. "}It retries
          by itself.
        </span>
      </div>
    );
  }
  return null;
}
