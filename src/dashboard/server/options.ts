import { formatValue, PunctualError } from "../../errors.ts";
import { type Logger, toLogger } from "../../events/logger.ts";
import { Redaction } from "../../run/redaction.ts";
import { checkFunction, checkKeys } from "../../validate/options.ts";
import type { ApiSettings, Role } from "./route.ts";

/** The user of a request, as `auth` of `dashboard()` returns it. */
export interface Identity {
  /** Shown on the page, and written to the audit log with each change. */
  user: string;
  /** `viewer` reads, `operator` also retries, cancels, pauses and dispatches, `admin` also deletes. */
  role: Role;
}

/**
 * Returns who sends a request; null: an unknown user, who gets 401. A Response is sent as it is, for example a redirect
 * to a login page or a challenge for a password.
 */
export type Authenticate = (
  request: Request,
) => Identity | Response | null | Promise<Identity | Response | null>;

/** Options of `dashboard()`. */
export interface DashboardOptions {
  /**
   * Path of the mount, such as `/admin/jobs`. Not needed at the root of a server, nor with `app.use(path, …)` of
   * Express, which reports the path.
   */
  basePath?: string | undefined;
  /**
   * Returns the user of a request. Without it the dashboard is for development: it answers requests from this machine
   * only, and with `NODE_ENV=production` none at all.
   */
  auth?: Authenticate | undefined;
  /** Makes every user a viewer. */
  readOnly?: boolean | undefined;
  /**
   * Host names under which the dashboard is reached, beside `localhost`, `*.localhost`, `127.0.0.1` and `[::1]`.
   * `*.example.com` stands for every name below example.com, `*` for any name. Other hosts get 421, which protects
   * against DNS rebinding.
   */
  allowedHosts?: readonly string[] | undefined;
  /**
   * Names or paths of values that the API hides in payloads, results and logs, such as `*.email` or `$.user.phone`, in
   * addition to passwords, tokens and the like. False: hides nothing.
   */
  redact?: readonly string[] | false | undefined;
  /** Title of the page. Default: `Punctual`. */
  title?: string | undefined;
  /** Shown as a badge, such as `staging`. Default: `NODE_ENV`. */
  environment?: string | undefined;
  /** Receives the errors that requests do not show. False turns logging off. Default: standard error. */
  logger?: Logger | false | undefined;
}

/** The options, checked and with their defaults. */
export interface DashboardSettings extends ApiSettings {
  /** Empty, or a path with a slash at its beginning and none at its end. */
  basePath: string;
  /** Null: no authentication. */
  auth: Authenticate | null;
  production: boolean;
  logger: Logger;
}

export function toSettings(options: DashboardOptions): DashboardSettings {
  checkKeys(
    options,
    {
      basePath: true,
      auth: true,
      readOnly: true,
      allowedHosts: true,
      redact: true,
      title: true,
      environment: true,
      logger: true,
    },
    "dashboard()",
  );
  const { auth, redact = [], allowedHosts = [] } = options;
  return {
    basePath: toBasePath(options.basePath ?? ""),
    auth: auth === undefined ? null : checkFunction(auth, "auth of dashboard()"),
    production: process.env.NODE_ENV === "production",
    allowedHosts: checkTexts(allowedHosts, "allowedHosts").map((host) => host.toLowerCase()),
    readOnly: options.readOnly === true,
    redaction: new Redaction(redact === false ? false : checkTexts(redact, "redact")),
    title: options.title ?? "Punctual",
    environment: options.environment ?? process.env.NODE_ENV ?? null,
    logger: toLogger(options.logger),
  };
}

function toBasePath(path: string): string {
  const trimmed = typeof path === "string" ? path.replace(/\/+$/, "") : null;
  if (trimmed === "" || (trimmed !== null && /^\/[^?#\s]*$/.test(trimmed) && !trimmed.includes("//"))) {
    // As it stands in the URL of a request.
    return trimmed === "" ? "" : new URL(trimmed, "http://localhost").pathname;
  }
  throw new PunctualError(
    "INVALID_OPTION",
    `dashboard() expected basePath as a path such as "/admin/jobs", got ${formatValue(path)}.`,
  );
}

function checkTexts(values: readonly string[], what: string): readonly string[] {
  if (Array.isArray(values) && values.every((value) => typeof value === "string" && value !== ""))
    return values;
  throw new PunctualError(
    "INVALID_OPTION",
    `dashboard() expected ${what} as a list of texts, got ${formatValue(values)}.`,
  );
}
