export { TestClock } from "./clock.ts";
export { type Dispatches, type DispatchRecord, recordDispatches } from "./dispatches.ts";
export { type DrainOptions, drain } from "./drain.ts";
export { type FakeRun, fakeRun } from "./fake-run.ts";
