import { batch, computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { BulkOperation, LiveEvents, Overview } from "../../../src/dashboard/api/contract.ts";
import { ApiProblem, request, urlOf } from "../api/client.ts";
import { setClock, syncClock } from "../time/clock.ts";
import { Connection, type ConnectionStatus, type Surroundings } from "./connection.ts";

/** State of the connection, for the header. */
export const status: Signal<ConnectionStatus> = signal("reconnecting");
/** Whether the page polls because event streams do not pass. */
export const polling: Signal<boolean> = signal(false);
/** The newest overview; null until the first arrived. */
export const overview: Signal<Overview | null> = signal(null);
/** When the server last confirmed the overview, by the browser's clock. */
export const receivedAt: Signal<number> = signal(Date.now());
/** Changes with every run that was dispatched, started or finished. Visible pages then read again. */
export const version: ReadonlySignal<string | null> = computed(() => overview.value?.version ?? null);
/** Changes with every heartbeat of a worker, also while no run changes. */
export const heartbeat: ReadonlySignal<string | null> = computed(
  () => overview.value?.tiles.workers.lastHeartbeat ?? null,
);
/** Whether the server reaches its database. */
export const database: Signal<LiveEvents["database"]> = signal({
  available: true,
  since: "",
  code: null,
  detail: null,
});
/** Bulk operations that this tab has heard of, by id. */
export const bulkOperations: Signal<ReadonlyMap<string, BulkOperation>> = signal(new Map());
/** Counts the moments at which the page should read again although no version changed: after a pause or an outage. */
export const refreshes: Signal<number> = signal(0);

export const paused: ReadonlySignal<boolean> = computed(() => status.value === "paused");

/** Codes of problems that mean: the database cannot be reached or used. */
const OUTAGE = /^(DATABASE|NOT_A_DATABASE|WRONG_DATABASE|NOT_INSTALLED|SCHEMA_TOO_NEW)/;

function receive(next: Overview): void {
  batch(() => {
    syncClock(next.now);
    overview.value = next;
    receivedAt.value = Date.now();
    if (!database.value.available)
      setDatabase({ available: true, since: next.now, code: null, detail: null });
  });
}

function setDatabase(next: LiveEvents["database"]): void {
  const healed = next.available && !database.value.available;
  database.value = next;
  if (healed) refreshes.value += 1;
}

export function noteBulk(operation: BulkOperation): void {
  bulkOperations.value = new Map(bulkOperations.value).set(operation.id, operation);
}

function open({ opened, heard, failed }: Parameters<Surroundings["open"]>[0]): () => void {
  const source = new EventSource(urlOf("GET /events" as never));
  const on = <Name extends keyof LiveEvents>(name: Name, handle: (data: LiveEvents[Name]) => void) =>
    source.addEventListener(name, (event) => {
      heard();
      handle(JSON.parse((event as MessageEvent<string>).data));
    });
  source.addEventListener("open", opened);
  source.addEventListener("error", failed);
  on("overview", receive);
  on("bulk", noteBulk);
  on("database", setDatabase);
  on("ping", () => {
    // Nothing has changed since the last overview, or it would have arrived.
    if (database.value.available) receivedAt.value = Date.now();
  });
  return () => source.close();
}

async function poll(abort: AbortSignal): Promise<void> {
  try {
    const next = await request("GET /overview", {}, abort);
    setClock(next.now);
    receive(next);
  } catch (error) {
    if (!(error instanceof ApiProblem) || !OUTAGE.test(error.problem.code)) throw error;
    const { code, detail } = error.problem;
    if (database.value.available)
      setDatabase({ available: false, since: new Date().toISOString(), code, detail });
  }
}

/** Reads the overview now, after an action: a paused page gets none by itself. */
export async function refreshOverview(): Promise<void> {
  // The header shows it if the server cannot be reached.
  await poll(new AbortController().signal).catch(() => {});
}

const connection = new Connection(
  {
    open,
    poll,
    later(milliseconds, call) {
      const timer = setTimeout(call, milliseconds);
      return () => clearTimeout(timer);
    },
    now: () => performance.now(),
  },
  () =>
    batch(() => {
      status.value = connection.status;
      polling.value = connection.polling;
    }),
);

/** Stops everything that the page reads by itself, or lets it continue. */
export function togglePause(): void {
  connection.paused = !connection.paused;
  if (!connection.paused) refreshes.value += 1;
}

export function startLive(): void {
  connection.start();
  document.addEventListener("visibilitychange", () => {
    connection.hidden = document.hidden;
    if (!document.hidden && !connection.paused) refreshes.value += 1;
  });
  // An open stream does not notice that the network has gone.
  for (const change of ["online", "offline"]) addEventListener(change, () => connection.reconnect());
  // Browsers close streams when a page goes to the back-forward cache, without an event for the stream.
  addEventListener("pagehide", () => {
    connection.hidden = true;
  });
  addEventListener("pageshow", () => {
    connection.hidden = document.hidden;
  });
}
