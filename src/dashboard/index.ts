export { type Dashboard, dashboard } from "./server/dashboard.ts";
export { type NodeHandler, toNodeHandler } from "./server/node-handler.ts";
export type { Authenticate, DashboardOptions, Identity } from "./server/options.ts";
export { type StartDashboardOptions, type StartedDashboard, startDashboard } from "./server/standalone.ts";
