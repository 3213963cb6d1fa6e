/**
 * Requests and responses of the HTTP API, version 1. The page imports these types. Times are ISO 8601 texts in UTC,
 * durations are milliseconds, ids are integers.
 */

import type { BatchDetail, BatchesChanges, BatchView } from "./contract/batches.ts";
import type {
  AuditEntry,
  DispatchRequest,
  FailuresResponse,
  JobDetail,
  JobView,
  MuteRequest,
  PauseRequest,
  QueueDetail,
  QueueView,
  RatesResponse,
  ScheduleDetail,
  SchedulesResponse,
  ValuesResponse,
  WorkerActionRequest,
  WorkerView,
} from "./contract/definitions.ts";
import type { Overview, Span, TrendView } from "./contract/overview.ts";
import type {
  ActionResult,
  BulkOperation,
  BulkRequest,
  CancelRequest,
  DispatchResult,
  LogsResponse,
  RerunRequest,
  RunDetail,
  RunLink,
  RunsChanges,
  RunsResponse,
  StateCounts,
} from "./contract/runs.ts";
import type { JsonText, Meta, Page } from "./contract/values.ts";

export type * from "./contract/batches.ts";
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
  /** The database cannot be reached or used, with the code of the error; or it can again. */
  database: { available: boolean; since: string; code: string | null; detail: string | null };
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
  "POST /runs/:id/retry": { body: Record<string, never>; response: ActionResult };
  "POST /runs/:id/cancel": { body: CancelRequest; response: ActionResult };
  "POST /runs/:id/rerun": { body: RerunRequest; response: DispatchResult };
  "DELETE /runs/:id": { response: ActionResult };
  "POST /runs/bulk": { body: BulkRequest; response: BulkOperation };
  "GET /bulk/:id": { response: BulkOperation };
  "POST /bulk/:id/stop": { body: Record<string, never>; response: BulkOperation };
  "GET /batches": {
    query: { show?: "all" | "unfinished"; before?: number; limit?: number };
    response: Page<BatchView>;
  };
  "GET /batches/changes": {
    query: { show?: "all" | "unfinished"; ids?: string; newest?: number };
    response: BatchesChanges;
  };
  "GET /batches/:id": { response: BatchDetail };
  "POST /batches/:id/seal": { body: Record<string, never>; response: ActionResult };
  "POST /batches/:id/cancel": { body: Record<string, never>; response: BulkOperation };
  "POST /batches/:id/retry": { body: Record<string, never>; response: BulkOperation };
  "GET /jobs": { response: { items: JobView[] } };
  "GET /jobs/:name": { query: { over?: Span }; response: JobDetail };
  "POST /jobs/:name/dispatch": { body: DispatchRequest; response: DispatchResult };
  "POST /jobs/:name/pause": { body: PauseRequest; response: ActionResult };
  "POST /jobs/:name/resume": { body: Record<string, never>; response: ActionResult };
  "GET /queues": { response: { items: QueueView[] } };
  "GET /queues/:name": { query: { over?: Span }; response: QueueDetail };
  "POST /queues/:name/pause": { body: PauseRequest; response: ActionResult };
  "POST /queues/:name/resume": { body: Record<string, never>; response: ActionResult };
  "GET /rates": {
    query: { job?: string; queue?: string; kind?: "job" | "key" | "queue" | "limit" };
    response: RatesResponse;
  };
  "GET /schedules": { response: SchedulesResponse };
  "GET /schedules/:id": { response: ScheduleDetail };
  "POST /schedules/:id/run": { body: Record<string, never>; response: DispatchResult };
  "POST /schedules/:id/pause": { body: PauseRequest; response: ActionResult };
  "POST /schedules/:id/resume": { body: Record<string, never>; response: ActionResult };
  "GET /failures": { response: FailuresResponse };
  "POST /failures/:fingerprint/mute": { body: MuteRequest; response: ActionResult };
  "POST /failures/:fingerprint/unmute": { body: Record<string, never>; response: ActionResult };
  "GET /workers": { response: { items: WorkerView[] } };
  "POST /workers/:worker/pause": { body: WorkerActionRequest; response: ActionResult };
  "POST /workers/:worker/resume": { body: Record<string, never>; response: ActionResult };
  "POST /workers/:worker/stop": { body: WorkerActionRequest; response: ActionResult };
  "GET /audit": { query: { before?: number; limit?: number }; response: Page<AuditEntry> };
  "GET /values": { query: { field: string; prefix?: string }; response: ValuesResponse };
}
