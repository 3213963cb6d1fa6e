import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createApi } from "../../src/dashboard/api/api.ts";
import { LIBRARY_STATUS, REQUEST_STATUS } from "../../src/dashboard/server/problem.ts";
import type { Route } from "../../src/dashboard/server/route.ts";
import { Punctual } from "../../src/index.ts";
import { Redaction } from "../../src/run/redaction.ts";
import { version } from "../../src/version.ts";
import { type Member, readDeclarations, type TypeNode } from "./declarations.ts";
import { EXAMPLES, SUMMARIES } from "./prose.ts";
import { type Schema, Schemas } from "./schemas.ts";

const source = join(import.meta.dirname, "../../src");
const FILES = [
  "run/states.ts",
  "dashboard/api/contract/batches.ts",
  "dashboard/api/contract/definitions.ts",
  "dashboard/api/contract/overview.ts",
  "dashboard/api/contract/runs.ts",
  "dashboard/api/contract/values.ts",
  "dashboard/api/contract.ts",
];

/** Types of other parts of the program that the contract's files declare or import, but no response contains. */
const UNUSED = ["Move", "Bootstrap"];

const STATUS: Record<string, number> = { DispatchResult: 201, BulkOperation: 202 };

/** Returns the OpenAPI document of the dashboard's API: schemas from its contract, roles from its routes. */
export function openApiDocument(): Schema {
  const declarations = FILES.flatMap((file) =>
    readDeclarations(readFileSync(join(source, file), "utf8")),
  ).filter(({ name }) => !UNUSED.includes(name));
  const schemas = new Schemas(declarations);
  const api = declarations.find(({ name }) => name === "Api")!;
  const roles = new Map(
    routes().map(({ method, path, role }) => [`${method} ${path.slice("/api/v1".length)}`, role]),
  );
  const paths: Record<string, Schema> = {};
  for (const { name: key, type } of schemas.membersOf(api.type)) {
    const [method, path] = key.split(" ") as [string, string];
    const shape = path.replace(/:(\w+)/g, "{$1}");
    paths[shape] ??= {};
    paths[shape][method.toLowerCase()] = operation(
      key,
      schemas.membersOf(type),
      schemas,
      roles.get(key) ?? "viewer",
    );
  }
  paths["/events"] = { get: eventsOperation(schemas) };
  Object.assign(paths, probePaths());
  return {
    openapi: "3.1.0",
    info: {
      title: "Punctual dashboard",
      version: version(),
      description:
        "HTTP API of the dashboard. Times are ISO 8601 texts in UTC, durations are milliseconds, ids are integers. Lists are paged by `next`, which is the `before` of the next page.",
    },
    servers: [{ url: "/api/v1", description: "Below the mount of the dashboard." }],
    security: [{ bearer: [] }, { cookie: [] }],
    paths,
    components: {
      schemas: schemas.components(),
      responses: { Problem: problemOf() },
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer" },
        cookie: { type: "apiKey", in: "cookie", name: "punctual" },
      },
    },
  };
}

function routes(): readonly Route[] {
  const jobs = new Punctual("sqlite::memory:", { logger: false });
  const settings = {
    redaction: new Redaction(),
    readOnly: false,
    allowedHosts: [],
    title: "",
    environment: null,
  };
  return createApi(jobs, settings).routes;
}

function operation(key: string, parts: Member[], schemas: Schemas, role: string): Schema {
  const part = (name: string) => parts.find((one) => one.name === name)?.type;
  const [, path] = key.split(" ") as [string, string];
  const response = part("response")!;
  const query = part("query");
  const body = part("body");
  const status = key.startsWith("GET") ? 200 : statusOf(key, response);
  return {
    operationId: toId(key),
    summary: SUMMARIES[key as keyof typeof SUMMARIES],
    "x-role": role,
    parameters: [
      ...[...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
        name,
        in: "path",
        required: true,
        schema: { type: name === "id" && !path.startsWith("/bulk") ? "integer" : "string" },
      })),
      ...(query ? schemas.membersOf(query) : []).map(({ name, optional, type, doc }) => ({
        name,
        in: "query",
        required: !optional,
        ...(doc !== null && { description: doc }),
        schema: schemas.schemaOf(type),
      })),
    ],
    ...(body && { requestBody: bodyOf(key, body, schemas) }),
    responses: {
      [status]: {
        description: "Done.",
        content: { "application/json": { schema: schemas.schemaOf(response) } },
      },
      ...(key.startsWith("GET") && {
        304: { description: "The response is the one that If-None-Match names." },
      }),
      default: { $ref: "#/components/responses/Problem" },
    },
  };
}

function bodyOf(key: string, body: TypeNode, schemas: Schemas): Schema {
  const example = EXAMPLES[key as keyof typeof EXAMPLES];
  const media = { schema: schemas.schemaOf(body), ...(example !== undefined && { example }) };
  return { required: false, content: { "application/json": media } };
}

function problemOf(): Schema {
  const schema = { $ref: "#/components/schemas/Problem" };
  const example = {
    type: "about:blank",
    title: "Not Found",
    status: 404,
    detail: "Cannot show run 7: it does not exist. It was deleted, or has finished and is no longer kept.",
    code: "RUN_NOT_FOUND",
    hint: null,
  };
  return {
    description: `The request was refused or failed; \`code\` says why. ${codesByStatus()}`,
    content: { "application/problem+json": { schema, example } },
  };
}

/** `404: NO_FILE, NO_ROUTE. 405: …`. A list and no enum: a client must accept codes that later versions add. */
function codesByStatus(): string {
  const codes = new Map<number, string[]>();
  const all = Object.entries({ ...REQUEST_STATUS, ...LIBRARY_STATUS });
  for (const [code, status] of all) codes.set(status, [...(codes.get(status) ?? []), code]);
  const sorted = [...codes].sort(([a], [b]) => a - b);
  return sorted.map(([status, names]) => `${status}: ${names.sort().join(", ")}.`).join(" ");
}

/** Answers in plain text beside the API: health, readiness and metrics. */
function probePaths(): Record<string, Schema> {
  const servers = [{ url: "/", description: "The mount of the dashboard." }];
  const text = (description: string) => ({
    description,
    content: { "text/plain": { schema: { type: "string" } } },
  });
  const open = { security: [] };
  return {
    "/healthz": {
      servers,
      get: {
        operationId: "getHealth",
        summary: "Whether the process answers. Needs no user.",
        ...open,
        responses: { 200: text("It does.") },
      },
    },
    "/readyz": {
      servers,
      get: {
        operationId: "getReadiness",
        summary: "Whether the database answers and has the tables of this version. Needs no user.",
        ...open,
        responses: { 200: text("It does."), 503: text("It does not.") },
      },
    },
    "/metrics": {
      servers,
      get: {
        operationId: "getMetrics",
        summary: "Metrics of the database and of this process, in the text format of Prometheus.",
        "x-role": "viewer",
        responses: { 200: text("The metrics."), default: { $ref: "#/components/responses/Problem" } },
      },
    },
  };
}

function eventsOperation(schemas: Schemas): Schema {
  return {
    operationId: "getEvents",
    summary: "Streams live events: overview, bulk and database.",
    "x-role": "viewer",
    parameters: [
      {
        name: "Last-Event-ID",
        in: "header",
        required: false,
        description: "Id of the last event that the client got: the stream continues after it.",
        schema: { type: "string" },
      },
    ],
    responses: {
      200: {
        description: "Server-sent events. The data of an event is the JSON of the property of its name.",
        content: {
          "text/event-stream": { schema: schemas.schemaOf({ kind: "name", name: "LiveEvents", args: [] }) },
        },
      },
      default: { $ref: "#/components/responses/Problem" },
    },
  };
}

function statusOf(key: string, response: TypeNode): number {
  if (key === "POST /bulk/:id/stop") return 200;
  return response.kind === "name" ? (STATUS[response.name] ?? 200) : 200;
}

/** `POST /runs/:id/retry` → `postRunsByIdRetry`. */
function toId(key: string): string {
  const words = key
    .replace(/:(\w+)/g, "by-$1")
    .toLowerCase()
    .match(/\w+/g)!;
  return words.map((word, index) => (index === 0 ? word : word[0]!.toUpperCase() + word.slice(1))).join("");
}
