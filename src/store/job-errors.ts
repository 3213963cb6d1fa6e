/** An error with which attempts of a job have failed since its last success. */
export interface JobError {
  fingerprint: string;
  /** Of the first of these attempts, shortened. */
  message: string;
  /** When the last of these attempts failed. */
  at: number;
}

/** Most errors to keep for a job. A mute is for one error, so few matter; a job with more kinds is shown anyway. */
const MOST_ERRORS = 8;

/** Returns the errors of both lists, each once, the latest last. */
export function mergeErrors(earlier: readonly JobError[], later: readonly JobError[]): JobError[] {
  const merged = new Map(earlier.map((error) => [error.fingerprint, error]));
  for (const error of later) {
    const at = Math.max(error.at, merged.get(error.fingerprint)?.at ?? 0);
    merged.set(error.fingerprint, { ...error, at });
  }
  return [...merged.values()].sort((a, b) => a.at - b.at).slice(-MOST_ERRORS);
}
