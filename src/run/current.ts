import { AsyncLocalStorage } from "node:async_hooks";

type Current = AsyncLocalStorage<{ id: number; instance: object }>;

/** Through the global object: the copy of the package that runs a handler may not be the one it dispatches with. */
const KEY: unique symbol = Symbol.for("punctual.currentRun") as never;

const global = globalThis as { [KEY]?: Current };

global[KEY] ??= new AsyncLocalStorage();

/** The run in whose handler we are, so that what it dispatches knows its parent. */
export const currentRun: Current = global[KEY];
