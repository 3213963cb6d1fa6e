import type { Route } from "../../server/route.ts";
import { defineRead } from "../define-route.ts";
import { toId } from "../request-values.ts";
import { readSchedule, readScheduleList } from "../schedule-reader.ts";
import type { Services } from "../services.ts";

export function schedulesRoutes(services: Services): Route[] {
  return [
    defineRead(services, "GET /schedules", {}, () => readScheduleList(services)),
    defineRead(services, "GET /schedules/:id", {}, ({ params }) =>
      readSchedule(services, toId(params.id!, "the id of a schedule")),
    ),
  ];
}
