import type { Route } from "../../server/route.ts";
import { defineAction, defineRead } from "../define-route.ts";
import { duration, text } from "../request-values.ts";
import type { Services } from "../services.ts";
import { toFailureGroups } from "../views/failure-group.ts";

export function failuresRoutes(services: Services): Route[] {
  const { jobs, reports, settings } = services;
  return [
    defineRead(services, "GET /failures", {}, async () => {
      const report = await reports.failures();
      return { items: toFailureGroups(report, settings.redaction), capped: report.capped };
    }),
    defineAction(
      services,
      "POST /failures/:fingerprint/mute",
      { role: "operator", body: { reason: text, for: duration } },
      async ({ params: { fingerprint = "" }, body: { reason, for: span }, user }) => {
        const given = { ...(reason && { reason }), ...(span !== undefined && { for: span }) };
        await jobs.mute(fingerprint, { ...given, by: user.name });
        return {
          response: { message: "The group is muted: its jobs no longer count as failing because of it." },
          audit: { action: "failure.mute", target: fingerprint, details: given },
        };
      },
    ),
    defineAction(
      services,
      "POST /failures/:fingerprint/unmute",
      { role: "operator", body: {} },
      async ({ params: { fingerprint = "" } }) => {
        const ended = await jobs.unmute(fingerprint);
        return {
          response: { message: ended ? "The group is not muted any more." : "The group was not muted." },
          audit: ended ? { action: "failure.unmute", target: fingerprint } : null,
        };
      },
    ),
  ];
}
