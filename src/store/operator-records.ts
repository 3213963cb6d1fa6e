/** An action of an operator to record. */
export interface NewAuditEntry {
  /** Null: unknown. */
  user: string | null;
  role: string | null;
  /** Such as `run.retry`. */
  action: string;
  /** The run, job, queue, schedule or query that it concerned. */
  target: string;
  /** JSON; null: none. */
  details: string | null;
  /** Such as `dashboard` or `cli`. */
  source: string;
}

/** An action of an operator. */
export interface AuditRecord extends NewAuditEntry {
  id: number;
  at: number;
}

/** A group of failures to mute: its runs stay visible, but their jobs are not reported as problems. */
export interface NewMute {
  /** Name of the person or program that muted it. */
  by: string | null;
  reason: string | null;
  fingerprint: string;
  /** Null: until it is unmuted. */
  until: number | null;
}

/** A muted group of failures. */
export interface MuteRecord extends NewMute {
  since: number;
}
