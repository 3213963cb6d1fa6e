import pg from "pg";
import type { Store } from "../../../src/store/store.ts";
import { MANY, type Plan } from "./plan.ts";

/** The server reports how it executed each statement, with the rows that each step read. */
const TELL = [
  "session_preload_libraries=auto_explain",
  "auto_explain.log_min_duration=0",
  "auto_explain.log_analyze=on",
  "auto_explain.log_timing=off",
  "auto_explain.log_buffers=on",
  "auto_explain.log_nested_statements=on",
  "auto_explain.log_format=json",
  "client_min_messages=log",
]
  .map((setting) => `-c ${setting}`)
  .join(" ");

interface Node {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Join Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  "Shared Hit Blocks"?: number;
  "Shared Read Blocks"?: number;
  Plans?: Node[];
}

/** Explains every statement that is run on a new store. */
export async function recordPlans(
  connect: () => Promise<Store>,
  work: (store: Store) => Promise<void>,
): Promise<Plan[]> {
  const plans = new Map<string, Plan>();
  const hear = ({ message }: { message?: string | undefined }) => {
    const json = message?.slice(message.indexOf("{"));
    if (!message?.includes("plan:") || !json) return;
    const { "Query Text": statement, Plan: top } = JSON.parse(json) as { "Query Text": string; Plan: Node };
    add(plans, statement, top);
  };
  const { connect: connectClient } = pg.Client.prototype;
  const telling = function (this: pg.Client, ...args: unknown[]) {
    const { connectionParameters } = this as unknown as { connectionParameters: { options?: string } };
    connectionParameters.options = [connectionParameters.options, TELL].filter(Boolean).join(" ");
    this.on("notice", hear);
    return connectClient.apply(this, args as unknown as Parameters<typeof connectClient>);
  };
  pg.Client.prototype.connect = telling as typeof connectClient;
  try {
    await work(await connect());
  } finally {
    pg.Client.prototype.connect = connectClient;
  }
  return [...plans.values()];
}

function add(plans: Map<string, Plan>, statement: string, top: Node): void {
  const plan = plans.get(statement) ?? { statement, steps: [], faults: [], rows: 0, read: 0 };
  plans.set(statement, plan);
  plan.rows += top["Actual Rows"] * top["Actual Loops"];
  // Only blocks show the entries that an index scan skips by a condition on a later column.
  plan.read += (top["Shared Hit Blocks"] ?? 0) + (top["Shared Read Blocks"] ?? 0);
  for (const node of nodes(top)) {
    const step = shown(node);
    plan.steps.push(step);
    if (node["Relation Name"] ?? node["Index Name"]) plan.read += met(node);
    if (met(node) > MANY) plan.faults.push(step);
  }
}

function* nodes(node: Node): Generator<Node> {
  yield node;
  for (const below of node.Plans ?? []) yield* nodes(below);
}

/** Number of rows that it read, including those it discarded. */
function met(node: Node): number {
  const removed =
    (node["Rows Removed by Filter"] ?? 0) +
    (node["Rows Removed by Join Filter"] ?? 0) +
    (node["Rows Removed by Index Recheck"] ?? 0);
  return (node["Actual Rows"] + removed) * node["Actual Loops"];
}

function shown(node: Node): string {
  const on = node["Index Name"] ?? node["Relation Name"];
  return `${node["Node Type"]}${on ? ` on ${on}` : ""}: ${met(node)} rows`;
}
