import { type ReadonlySignal, type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Problem } from "../../../src/dashboard/api/contract.ts";
import { paused, refreshes, version } from "../live/live.ts";
import { type GetRoute, type Input, type Response, request, toProblem } from "./client.ts";

/** State of one route on a page. While the page reads again, it keeps the earlier data. */
export interface Resource<Data> {
  data: Data | null;
  /** Why the last read failed; the data of an earlier one may still be there. */
  problem: Problem | null;
  /** Whether the first read for this input is under way. */
  loading: boolean;
  /** Reads again now, as after an action. */
  refresh(): void;
}

type Send<R extends GetRoute> = (route: R, input: Input<R>, signal: AbortSignal) => Promise<Response<R>>;

interface Options {
  /** Read again whenever a run changed. Default: true. */
  live?: boolean;
  /** Milliseconds between two reads that changes of runs lead to; default: as fast as they come. */
  every?: number;
  /** Milliseconds after the last change at which to read again, for facts that the server learns or renews later. */
  rereadAfter?: number;
  /** Read again also when this changes. */
  also?: ReadonlySignal<unknown>;
  /** False: do not read yet. */
  enabled?: boolean;
}

/**
 * Options of resources with counts of attempts: workers write them every 10 seconds, and the API keeps those of a day
 * for 30 seconds. No later event would replace counts that are too old.
 */
export const COUNTS: Options = { rereadAfter: 42_000 };

/**
 * Reads a route for a component, and reads it again when runs changed. One read is under way at a time; a change
 * during a read leads to one more. Paused and hidden pages read only what the user asks for.
 */
export function useResource<R extends GetRoute>(
  route: R,
  input: Input<R>,
  { live = true, enabled = true, every = 0, rereadAfter = 0, also }: Options = {},
): Resource<Response<R>> {
  const key = `${route} ${JSON.stringify(input)}`;
  const state: Signal<{ key: string; data: Response<R> | null; problem: Problem | null }> = useSignal({
    key: "",
    data: null,
    problem: null,
  });
  const reader = useRef<() => void>(() => {});

  useEffect(() => {
    if (!enabled) return;
    const abort = new AbortController();
    let reading = false;
    let again = false;
    const read = async () => {
      if (reading) {
        again = true;
        return;
      }
      reading = true;
      try {
        const data = await (request as Send<R>)(route, input, abort.signal);
        if (!abort.signal.aborted) state.value = { key, data, problem: null };
      } catch (error) {
        if (!abort.signal.aborted) {
          const kept = state.peek();
          state.value = { key, data: kept.key === key ? kept.data : null, problem: toProblem(error) };
        }
      }
      reading = false;
      if (again && !abort.signal.aborted) {
        again = false;
        read();
      }
    };
    reader.current = read;
    read();
    if (!live) return () => abort.abort();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const after = (wait: number, act: () => void) => {
      clearTimeout(timer);
      if (wait > 0) timer = setTimeout(() => paused.peek() || document.hidden || act(), wait);
    };
    const onChange = () => {
      if (first || paused.peek() || document.hidden) return;
      const wait = readAt + every - Date.now();
      // The last of several changes must not be lost.
      if (wait > 0) return after(wait, onChange);
      readAt = Date.now();
      read();
      after(rereadAfter, read);
    };
    let first = true;
    let readAt = Date.now();
    after(rereadAfter, read);
    const stops = [version, refreshes, ...(also ? [also] : [])].map((changed) => changed.subscribe(onChange));
    first = false;
    return () => {
      abort.abort();
      clearTimeout(timer);
      for (const stop of stops) stop();
    };
  }, [key, enabled, live, every, rereadAfter, also]);

  const { key: readKey, data, problem } = state.value;
  const current = readKey === key;
  return {
    data: current ? data : null,
    problem: current ? problem : null,
    loading: enabled && (!current || (data === null && problem === null)),
    refresh: () => reader.current(),
  };
}
