import { AsyncLocalStorage } from "node:async_hooks";

/** The run in whose handler we are, so that what it dispatches knows its parent. */
export const currentRun: AsyncLocalStorage<{ id: number; instance: object }> = new AsyncLocalStorage();
