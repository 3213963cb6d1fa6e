import type { Punctual } from "../../punctual.ts";
import type { Api, ApiSettings } from "../server/route.ts";
import { LiveHub } from "./live/live-hub.ts";
import { Sampler } from "./live/sampler.ts";
import { OverviewReader } from "./overview-reader.ts";
import { eventsRoute } from "./routes/events.ts";
import { overviewRoutes } from "./routes/overview.ts";
import { runRoutes } from "./routes/run.ts";
import { runsRoutes } from "./routes/runs.ts";
import { Services } from "./services.ts";

/** Returns the API of one dashboard. */
export function createApi(jobs: Punctual, settings: ApiSettings): Api {
  const services = new Services(jobs, settings);
  const overview = new OverviewReader(services);
  const sampler = new Sampler({
    clock: services.clock,
    read: () => overview.read(),
    publish: (event, data) => hub.publish(event, event, data),
    hide: (text) => settings.redaction.text(text),
  });
  const hub = new LiveHub(services.clock, sampler);
  const routes = [
    ...overviewRoutes(services, overview),
    ...runsRoutes(services),
    ...runRoutes(services),
    eventsRoute(hub),
  ];
  return { routes, close: () => hub.close() };
}
