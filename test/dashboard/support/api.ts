import { onTestFinished } from "vitest";
import type { Problem, Role } from "../../../src/dashboard/api/contract.ts";
import { type Dashboard, type DashboardOptions, dashboard } from "../../../src/dashboard/index.ts";
import type { Punctual } from "../../../src/index.ts";

export interface Answer<Body> {
  status: number;
  body: Body;
  headers: Headers;
}

/** Sends requests to the API of a dashboard, as one user. */
export class Client {
  readonly #dashboard: Dashboard;
  readonly role: Role;

  constructor(target: Dashboard, role: Role) {
    this.#dashboard = target;
    this.role = role;
  }

  request(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { "x-role": this.role, origin: "http://localhost", ...(init.headers as object) };
    return this.#dashboard(new Request(`http://localhost/api/v1${path}`, { ...init, headers }));
  }

  async get<Body>(path: string, headers: Record<string, string> = {}): Promise<Answer<Body>> {
    return answer(await this.request(path, { headers }));
  }

  async post<Body>(path: string, body: unknown = {}): Promise<Answer<Body>> {
    const headers = { "content-type": "application/json" };
    return answer(await this.request(path, { method: "POST", body: JSON.stringify(body), headers }));
  }

  async delete<Body>(path: string): Promise<Answer<Body>> {
    const headers = { "content-type": "application/json" };
    return answer(await this.request(path, { method: "DELETE", headers }));
  }
}

async function answer<Body>(response: Response): Promise<Answer<Body>> {
  const text = await response.text();
  return {
    status: response.status,
    body: (text === "" ? undefined : JSON.parse(text)) as Body,
    headers: response.headers,
  };
}

export interface Users {
  viewer: Client;
  operator: Client;
  admin: Client;
  dashboard: Dashboard;
}

/** The API of an instance, with a client for each role; closed after the test. */
export function serve(jobs: Punctual, options: Omit<DashboardOptions, "auth"> = {}): Users {
  const target = dashboard(jobs, {
    logger: false,
    ...options,
    auth: (request) => ({ user: "ana", role: request.headers.get("x-role") as Role }),
  });
  onTestFinished(() => target.close());
  return {
    viewer: new Client(target, "viewer"),
    operator: new Client(target, "operator"),
    admin: new Client(target, "admin"),
    dashboard: target,
  };
}

export type Refusal = Answer<Problem>;
