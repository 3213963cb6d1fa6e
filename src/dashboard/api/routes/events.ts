import type { Route } from "../../server/route.ts";
import type { LiveHub } from "../live/live-hub.ts";
import { readQuery } from "../request-values.ts";

/** `GET /events`: the stream of live events. */
export function eventsRoute(hub: LiveHub): Route {
  return {
    method: "GET",
    path: "/api/v1/events",
    role: "viewer",
    handler: ({ request, query, signal }) => {
      readQuery(query, {});
      return hub.connect(request.headers.get("last-event-id"), signal);
    },
  };
}
