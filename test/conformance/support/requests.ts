import { laneOf } from "../../../src/run/lanes.ts";
import type { Outcome, RunState } from "../../../src/run/states.ts";
import type { Rate } from "../../../src/store/rate.ts";
import type { RunRecord, WorkerRecord, WorkerRequest } from "../../../src/store/records.ts";
import type { RunCondition } from "../../../src/store/search.ts";
import type {
  ClaimedRun,
  ClaimRequest,
  CrashCap,
  DeclaredJob,
  ExchangeRequest,
  ExchangeResult,
  JobDetails,
  Lease,
  NewRun,
  Settlement,
  Store,
  SyncRequest,
  SyncResult,
} from "../../../src/store/store.ts";

export function rate(limit: number, per = 1000, burst: number | null = null): Rate {
  return { limit, per, burst };
}

/** `key` null: it was computed as none. */
export type RunFields = Partial<NewRun> & { key?: string | null };

export function newRun({ key, ...fields }: RunFields = {}): NewRun {
  const name = fields.name ?? "job";
  return {
    name,
    job: { queue: "default", priority: 100, limit: 0, keyLimit: 0 },
    queue: "default",
    lane: key === undefined ? name : laneOf(name, key),
    priority: 100,
    runAt: null,
    delay: 0,
    args: null,
    timeout: null,
    retries: null,
    unique: null,
    owner: null,
    tags: [],
    parentId: null,
    batchId: null,
    expires: null,
    traceparent: null,
    ...fields,
  };
}

export async function insert(store: Store, ...runs: RunFields[]): Promise<number[]> {
  return (await store.insert(runs.map(newRun))).map(({ id }) => id);
}

export async function insertOne(store: Store, fields: RunFields = {}): Promise<number> {
  return (await insert(store, fields))[0]!;
}

/** The settings that a producer declares for a job which it does not define. */
export const DECLARED: DeclaredJob = { queue: "default", priority: 100, limit: 1, keyLimit: 0 };

/** Leaves the row of a dispatched job, without a run. */
export async function declare(store: Store, name: string, job: Partial<DeclaredJob> = {}): Promise<void> {
  await store.remove(await insertOne(store, { name, job: { ...DECLARED, ...job } }));
}

export function times<Item>(count: number, make: (index: number) => Item): Item[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

let made = 0;

export function claimRequest(fields: Partial<ClaimRequest> = {}): ClaimRequest {
  const limit = fields.limit ?? 100;
  return {
    token: `token-${++made}`,
    immediate: false,
    limit,
    start: limit,
    limited: fields.start ?? limit,
    behind: () => 0,
    window: 64,
    crashed: limit,
    queues: null,
    exceptQueues: [],
    stride: null,
    exclude: [],
    computesKey: () => true,
    computesCost: () => true,
    owner: "w1",
    lease: 60_000,
    leases: {},
    ...fields,
  };
}

export function exchange(store: Store, fields: Partial<ExchangeRequest> = {}): Promise<ExchangeResult> {
  return store.exchange({
    worker: "w1",
    stream: 0,
    seq: ++made,
    again: false,
    settle: [],
    started: [],
    claim: null,
    ...fields,
  });
}

export type ClaimFields = Partial<ClaimRequest> & { worker?: string };

export async function claim(
  store: Store,
  { worker = "w1", ...fields }: ClaimFields = {},
): Promise<ClaimedRun[]> {
  const { claimed } = await exchange(store, {
    worker,
    claim: claimRequest({ owner: worker, ...fields }),
  });
  return claimed;
}

export async function claimOne(store: Store, fields: ClaimFields = {}): Promise<ClaimedRun> {
  const claimed = await claim(store, { limit: 1, ...fields });
  if (claimed.length !== 1) throw new Error(`Expected one run to claim, got ${claimed.length}.`);
  return claimed[0]!;
}

export function settlement(
  { id, token }: Lease,
  outcome: Outcome,
  fields: Partial<Settlement> = {},
): Settlement {
  return {
    id,
    token,
    outcome,
    duration: 5,
    delay: 0,
    error: null,
    fingerprint: null,
    result: null,
    keep: null,
    logged: 0,
    ...fields,
  };
}

export async function settle(
  store: Store,
  lease: Lease,
  outcome: Outcome,
  fields: Partial<Settlement> = {},
): Promise<boolean | "cancelled"> {
  const { settled } = await exchange(store, { settle: [settlement(lease, outcome, fields)] });
  return settled[0]!;
}

/** Inserts a run, claims it and settles it. */
export async function finish(
  store: Store,
  outcome: Outcome,
  fields: RunFields = {},
  ends: Partial<Settlement> = {},
): Promise<number> {
  const id = await insertOne(store, fields);
  const run = (await claim(store)).find((one) => one.id === id)!;
  await settle(store, run, outcome, ends);
  return id;
}

export const ids = (runs: { id: number }[]): number[] => runs.map(({ id }) => id);

export const names = (runs: { name: string }[]): string[] => runs.map(({ name }) => name);

export async function found(store: Store, id: number): Promise<RunRecord> {
  const run = await store.find(id);
  if (!run) throw new Error(`Run ${id} is not there.`);
  return run;
}

export type JobFields = Partial<
  JobDetails & { fingerprint: string; formerly: string[]; implicit: boolean }
> & { name: string };

/** Syncs jobs as a worker that started after all earlier ones. */
export function define(
  store: Store,
  jobs: JobFields[],
  {
    worker = "w1",
    startedAt = ++made,
    queues = [],
    limits = [],
    census = null,
  }: Partial<Omit<SyncRequest, "jobs">> = {},
): Promise<SyncResult> {
  return store.syncJobs({
    worker,
    startedAt,
    queues,
    limits,
    census,
    jobs: jobs.map(
      ({ name, fingerprint = `code-${++made}`, formerly = [], implicit = false, ...fields }) => ({
        name,
        fingerprint,
        formerly,
        implicit,
        under: fields.rates?.under?.limit ?? null,
        details: () => ({
          queue: "default",
          priority: 100,
          limit: 0,
          keyLimit: 0,
          cron: null,
          schedules: [],
          ...fields,
        }),
      }),
    ),
  });
}

/** A job under a limit that no test here reaches. */
export const LIMITED = { name: "limited" };

export function defineLimited(store: Store): Promise<SyncResult> {
  return define(store, [{ ...LIMITED, limit: 10_000 }]);
}

export function beat(
  store: Store,
  id: string,
  fields: Partial<WorkerRecord> = {},
): Promise<WorkerRequest | null> {
  return store.beat({
    id,
    host: "host",
    pid: 1,
    parallel: 1,
    queues: null,
    exceptQueues: [],
    weights: null,
    schedules: true,
    startedAt: 0,
    seenAt: 0,
    ...fields,
  });
}

/** A heartbeat of a worker whose heartbeats stand for its jobs. */
export function beatFor(
  store: Store,
  id: string,
  fields: Partial<WorkerRecord> = {},
): Promise<WorkerRequest | null> {
  const facts = { coversJobs: true, version: "1", memory: 1, load: 0, lag: 0, children: [] };
  return beat(store, id, { facts, ...fields });
}

/** The cap of crashes, equal for isolated and other runs. */
export function cap(crashes: number): CrashCap {
  return { isolated: crashes, shared: crashes };
}

/** Reaps all runs whose lease has ended. */
export function reap(store: Store, crashCap = 100): ReturnType<Store["reap"]> {
  return store.reap(1000, cap(crashCap), "crashed", null);
}

export interface ListFields {
  states?: RunState[];
  name?: string;
  queue?: string;
  key?: string;
  tag?: string;
  batchId?: string;
  parentId?: number;
  before?: number;
  limit?: number;
}

/** The runs that have these fields, the newest first. */
export async function list(store: Store, fields: ListFields = {}): Promise<RunRecord[]> {
  const { states, parentId, before, limit = 100 } = fields;
  const where: RunCondition[] = [];
  const texts = {
    job: fields.name,
    queue: fields.queue,
    key: fields.key,
    tag: fields.tag,
    batch: fields.batchId,
  };
  if (states) where.push({ field: "state", any: states });
  for (const field of ["job", "queue", "key", "tag", "batch"] as const) {
    const is = texts[field];
    if (is !== undefined) where.push({ field, any: [{ is }] });
  }
  if (parentId !== undefined) where.push({ field: "parent", any: [{ op: "=", value: parentId }] });
  return (await store.search({ where, limit, ...(before !== undefined && { before }) })).runs;
}
