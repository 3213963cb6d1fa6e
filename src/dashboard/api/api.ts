import type { Punctual } from "../../punctual.ts";
import type { ApiSettings, MountedApi } from "../server/route.ts";
import { BulkOperations } from "./bulk-operations.ts";
import { LiveHub } from "./live/live-hub.ts";
import { Sampler } from "./live/sampler.ts";
import { OverviewReader } from "./overview-reader.ts";
import { auditRoute } from "./routes/audit.ts";
import { batchesRoutes } from "./routes/batches.ts";
import { bulkRoutes } from "./routes/bulk.ts";
import { definitionActions } from "./routes/definition-actions.ts";
import { eventsRoute } from "./routes/events.ts";
import { failuresRoutes } from "./routes/failures.ts";
import { jobsRoutes } from "./routes/jobs.ts";
import { metaRoute, openApiRoute } from "./routes/meta.ts";
import { overviewRoutes } from "./routes/overview.ts";
import { queuesRoutes } from "./routes/queues.ts";
import { ratesRoute } from "./routes/rates.ts";
import { runRoutes } from "./routes/run.ts";
import { runActions } from "./routes/run-actions.ts";
import { runsRoutes } from "./routes/runs.ts";
import { schedulesRoutes } from "./routes/schedules.ts";
import { valuesRoute } from "./routes/values.ts";
import { workersRoutes } from "./routes/workers.ts";
import { Services } from "./services.ts";

/** Returns the API of one dashboard. */
export function createApi(jobs: Punctual, settings: ApiSettings): MountedApi {
  const services = new Services(jobs, settings);
  const overview = new OverviewReader(services);
  const sampler = new Sampler({
    clock: services.clock,
    read: () => overview.read(),
    publish(event, data) {
      // Pages read again when they get the event; a result from before it would hide the change from them.
      services.reads.forget();
      hub.publish(event, event, data);
    },
    hide: (text) => settings.redaction.text(text),
  });
  const hub = new LiveHub(services.clock, sampler);
  const bulk = new BulkOperations(services, hub);
  const routes = [
    ...overviewRoutes(services, overview),
    ...runsRoutes(services),
    ...runRoutes(services),
    ...runActions(services),
    ...bulkRoutes(services, bulk),
    ...batchesRoutes(services, bulk),
    ...jobsRoutes(services),
    ...queuesRoutes(services),
    ratesRoute(services),
    ...schedulesRoutes(services),
    ...definitionActions(services),
    ...failuresRoutes(services),
    ...workersRoutes(services),
    auditRoute(services),
    valuesRoute(services),
    metaRoute(services),
    openApiRoute(),
    eventsRoute(hub),
  ];
  const close = async () => {
    hub.close();
    await bulk.close();
  };
  return { routes, close };
}
