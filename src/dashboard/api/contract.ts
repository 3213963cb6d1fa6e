/**
 * Requests and responses of the HTTP API, version 1. The page imports these types. Times are ISO 8601 texts in UTC,
 * durations are milliseconds, ids are integers.
 */

import type {
  AuditEntry,
  DispatchRequest,
  FailuresResponse,
  JobDetail,
  JobView,
  PauseRequest,
  QueueDetail,
  QueueView,
  ScheduleDetail,
  SchedulesResponse,
  ValuesResponse,
  WorkerView,
} from "./contract/definitions.ts";
import type { Overview, Span, TrendView } from "./contract/overview.ts";
import type {
  BulkOperation,
  BulkRequest,
  CancelRequest,
  Created,
  Done,
  LogsResponse,
  RerunRequest,
  RunDetail,
  RunLink,
  RunsChanges,
  RunsResponse,
  StateCounts,
} from "./contract/runs.ts";
import type { JsonText, Meta, Page } from "./contract/values.ts";

export type * from "./contract/definitions.ts";
export type * from "./contract/overview.ts";
export type * from "./contract/runs.ts";
export type * from "./contract/values.ts";

/** `GET /events` sends these events, each with the data of its type as JSON. */
export interface LiveEvents {
  overview: Overview;
  bulk: BulkOperation;
  /** Every five seconds: the last `overview` still holds, unless a `database` event said otherwise. */
  ping: Record<string, never>;
  /** The database cannot be reached, or can be reached again. */
  database: { available: boolean; since: string; detail: string | null };
}

/** Every route, relative to `/api/v1`, with what it takes and returns. */
export interface Api {
  "GET /meta": { response: Meta };
  "GET /overview": { response: Overview };
  "GET /trend": { query: { over?: Span; job?: string; queue?: string }; response: TrendView };
  "GET /runs": {
    query: { q?: string; before?: number; limit?: number; zone?: string };
    response: RunsResponse;
  };
  "GET /runs/changes": {
    query: { q?: string; ids?: string; newest?: number; zone?: string };
    response: RunsChanges;
  };
  "GET /runs/states": { query: { q?: string; zone?: string }; response: StateCounts };
  "GET /runs/:id": { response: RunDetail };
  "GET /runs/:id/logs": { query: { after?: number; limit?: number }; response: LogsResponse };
  "GET /runs/:id/payload": { query: { part: "args" | "result" | "progress" }; response: JsonText };
  "GET /runs/:id/children": { query: { before?: number }; response: Page<RunLink> };
  "POST /runs/:id/retry": { body: Record<string, never>; response: Done };
  "POST /runs/:id/cancel": { body: CancelRequest; response: Done };
  "POST /runs/:id/rerun": { body: RerunRequest; response: Created };
  "DELETE /runs/:id": { response: Done };
  "POST /runs/bulk": { body: BulkRequest; response: BulkOperation };
  "GET /bulk/:id": { response: BulkOperation };
  "POST /bulk/:id/stop": { body: Record<string, never>; response: BulkOperation };
  "GET /jobs": { response: { items: JobView[] } };
  "GET /jobs/:name": { query: { over?: Span }; response: JobDetail };
  "POST /jobs/:name/dispatch": { body: DispatchRequest; response: Created };
  "POST /jobs/:name/pause": { body: PauseRequest; response: Done };
  "POST /jobs/:name/resume": { body: Record<string, never>; response: Done };
  "GET /queues": { response: { items: QueueView[] } };
  "GET /queues/:name": { query: { over?: Span }; response: QueueDetail };
  "POST /queues/:name/pause": { body: PauseRequest; response: Done };
  "POST /queues/:name/resume": { body: Record<string, never>; response: Done };
  "GET /schedules": { response: SchedulesResponse };
  "GET /schedules/:id": { response: ScheduleDetail };
  "POST /schedules/:id/run": { body: Record<string, never>; response: Created };
  "POST /schedules/:id/pause": { body: PauseRequest; response: Done };
  "POST /schedules/:id/resume": { body: Record<string, never>; response: Done };
  "GET /failures": { response: FailuresResponse };
  "GET /workers": { response: { items: WorkerView[] } };
  "GET /audit": { query: { before?: number; limit?: number }; response: Page<AuditEntry> };
  "GET /values": { query: { field: string; prefix?: string }; response: ValuesResponse };
}
