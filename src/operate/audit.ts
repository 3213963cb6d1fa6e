import { readable } from "../run/info.ts";
import { encodePayload, type JsonValue } from "../run/payload.ts";
import type { AuditRecord, NewAuditEntry } from "../store/records.ts";
import { checkName } from "../validate/names.ts";
import { checkKeys } from "../validate/options.ts";

/** An action of an operator, for `recordAction()`. */
export interface OperatorAction {
  /** Such as `run.retry` or `queue.pause`. */
  action: string;
  /** The run, job, queue, schedule or query that it concerned. */
  target: string;
  /** Name of the operator; absent: unknown. */
  user?: string | null | undefined;
  role?: string | null | undefined;
  /** Anything more, such as a query and counts. At most 64 KiB as JSON. */
  details?: JsonValue | undefined;
  /** The tool that was used, such as `dashboard`. Default: `api`. */
  source?: string | undefined;
}

/** Options of `audit()`. */
export interface AuditOptions {
  /** Most entries. Default: 50; at most 1,000. */
  limit?: number | undefined;
  /** Returns only entries with a smaller id: `next` of the previous page. */
  before?: number | undefined;
}

/** An entry of the audit trail. */
export interface AuditEntry extends Omit<AuditRecord, "at" | "details"> {
  at: Date;
  details: JsonValue | undefined;
}

/** One page of the audit trail. */
export interface AuditPage {
  entries: AuditEntry[];
  /** Value of `before` for the next page; null on the last one. */
  next: number | null;
}

const MOST_DETAILS = 64 * 1024;

export function toAuditEntry(given: OperatorAction): NewAuditEntry {
  checkKeys(
    given,
    { action: true, target: true, user: true, role: true, details: true, source: true },
    "recordAction()",
  );
  const { user, role, details, source } = given;
  const name = (value: string | null | undefined, what: string) =>
    value === undefined || value === null ? null : checkName(value, what);
  return {
    action: checkName(given.action, "an action"),
    target: String(given.target),
    user: name(user, "a user"),
    role: name(role, "a role"),
    details: details === undefined ? null : (encodePayload(details, MOST_DETAILS, "details") ?? null),
    source: name(source, "a source") ?? "api",
  };
}

export function toAuditPage(records: AuditRecord[], limit: number): AuditPage {
  const entries = records.map((record) => ({
    ...record,
    at: new Date(record.at),
    details: readable(record.details),
  }));
  return { entries, next: records.length < limit ? null : records.at(-1)!.id };
}
