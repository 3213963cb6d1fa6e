import { formatValue, PunctualError } from "../errors.ts";
import { type Failure, readFailure } from "../run/failure.ts";
import { type MuteInfo, toMuteInfo } from "../status/report.ts";
import type { StoreReads } from "../store/reads.ts";
import type { FailureCount, NewMute } from "../store/records.ts";
import { type Duration, HOUR, toMilliseconds } from "../time.ts";
import { checkName } from "../validate/names.ts";
import { checkInteger, checkKeys } from "../validate/options.ts";
import { type PauseOptions, toPauseNote, toSpan } from "./pause.ts";
import type { Reports } from "./reports.ts";

/** Options of `failures()`. */
export interface FailuresOptions {
  /** Only failures of this job. */
  job?: string | undefined;
  /** Only runs that failed within this time. Default: all that are kept. */
  over?: Duration | undefined;
  /** Most groups. Default: 50; at most 500. */
  limit?: number | undefined;
}

/** Failed runs with the same error. */
export interface FailureGroup {
  /** The same for errors that differ in numbers, ids and quoted names only; null: unknown. */
  fingerprint: string | null;
  count: number;
  /** The jobs whose runs failed with it, the most frequent first. */
  jobs: string[];
  /** Error of the newest run. */
  error: Failure | null;
  firstSeen: Date;
  lastSeen: Date;
  /** The newest run. */
  sample: number;
  /** Failures in each of the last 24 hours, the oldest first; the last one is not over yet. */
  hours: number[];
  /** Null: it is not muted. */
  mute: MuteInfo | null;
}

/** Result of `failures()`. */
export interface FailureReport {
  /** The group that failed last comes first. */
  groups: FailureGroup[];
  /** Whether more failed runs exist than were read: counts and `firstSeen` then concern the newest 10,000. */
  capped: boolean;
}

/** Most failed runs to group. */
const MOST_FAILURES = 10_000;

const HOURS = 24;

export async function groupFailures(reads: StoreReads, options: FailuresOptions): Promise<FailureReport> {
  checkKeys(options, { job: true, over: true, limit: true }, "failures()");
  const limit = checkInteger(options.limit ?? 50, "failures() limit", 1, 500);
  const job = options.job === undefined ? null : checkName(options.job, "a job name");
  const now = await reads.now();
  const since = options.over === undefined ? null : now - toMilliseconds(options.over, "failures() over");
  const { counts, capped } = await reads.failures({ job, since, most: MOST_FAILURES });
  const groups = [...Map.groupBy(counts, ({ fingerprint }) => fingerprint).values()]
    .map((of) => toGroup(of, now))
    .sort((a, b) => Number(b.lastSeen) - Number(a.lastSeen) || b.sample - a.sample)
    .slice(0, limit);
  const mutes = new Map((await reads.mutes()).map((mute) => [mute.fingerprint, toMuteInfo(mute)]));
  const errors = await reads.errorsOf(groups.map(({ sample }) => sample));
  return {
    groups: groups.map((group) => ({
      ...group,
      error: readFailure(errors.get(group.sample) ?? null),
      mute: mutes.get(group.fingerprint ?? "") ?? null,
    })),
    capped,
  };
}

function toGroup(counts: FailureCount[], now: number): FailureGroup {
  const hours = Array<number>(HOURS).fill(0);
  const jobs = new Map<string, number>();
  const current = now - (now % HOUR);
  for (const { job, hour, count } of counts) {
    jobs.set(job, (jobs.get(job) ?? 0) + count);
    const index = HOURS - 1 - (current - hour) / HOUR;
    if (index >= 0 && index < HOURS) hours[index]! += count;
  }
  return {
    fingerprint: counts[0]!.fingerprint,
    count: counts.reduce((sum, { count }) => sum + count, 0),
    jobs: [...jobs].sort(([, a], [, b]) => b - a).map(([job]) => job),
    error: null,
    firstSeen: new Date(counts.reduce((least, { first }) => Math.min(least, first), now)),
    lastSeen: new Date(counts.reduce((most, { last }) => Math.max(most, last), 0)),
    sample: counts.reduce((most, { sample }) => Math.max(most, sample), 0),
    hours,
    mute: null,
  };
}

/** Options of `mute()`. */
export interface MuteOptions extends PauseOptions {
  /** The mute ends by itself after this duration. Default: it lasts until `unmute()`. */
  for?: Duration | undefined;
}

/** Returns the fingerprint of a group of failures. Throws if it cannot be one. */
export function checkFingerprint(fingerprint: unknown, method: string): string {
  if (typeof fingerprint === "string" && /^[\w-]{1,64}$/.test(fingerprint)) return fingerprint;
  throw new PunctualError(
    "INVALID_OPTION",
    `${method}() expected the fingerprint of a group of failures, such as "1f0c5a7e9b3d2c48", got ${formatValue(fingerprint)}. failures() lists them.`,
  );
}

/**
 * Throws UNKNOWN_FAILURE unless a failed run, a job that fails now, or an earlier mute has this fingerprint: a mistyped
 * one would mute nothing.
 */
export async function checkKnownGroup(
  reports: Pick<Reports, "runs" | "status" | "mutes">,
  fingerprint: string,
): Promise<void> {
  const isIt = (one: { fingerprint: string }) => one.fingerprint === fingerprint;
  if ((await reports.mutes()).some(isIt)) return;
  if ((await reports.status()).jobs.some(({ errors }) => errors.some(isIt))) return;
  const { runs } = await reports.runs({ where: `fingerprint:${fingerprint}`, limit: 1 });
  if (runs.length > 0) return;
  throw new PunctualError(
    "UNKNOWN_FAILURE",
    `Cannot mute "${fingerprint}": no failed run has this fingerprint. failures() and punctual list failures --columns fingerprint,error list them.`,
  );
}

export function toMute(fingerprint: string, options: MuteOptions, now: number): NewMute {
  checkKeys(options, { for: true, reason: true, by: true }, "mute()");
  const until = options.for === undefined ? null : now + toSpan(options.for, "mute for");
  return { fingerprint: checkFingerprint(fingerprint, "mute"), until, ...toPauseNote(options, "mute") };
}
