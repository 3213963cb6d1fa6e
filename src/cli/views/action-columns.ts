import { detailsInWords } from "../../operate/action-words.ts";
import type { AuditEntry } from "../../operate/audit.ts";
import type { JsonValue } from "../../run/payload.ts";
import { redact } from "../../run/redact.ts";
import { ago } from "../render/formats.ts";
import type { Page } from "../render/page.ts";
import type { Column } from "../render/table.ts";

/** The columns of `list actions`. */
export function actionColumns(now: Date, { icons }: Page): Column<AuditEntry>[] {
  return [
    { title: "When", cell: ({ at }) => ago(at, now) },
    { title: "Who", cell: ({ user }) => user ?? icons.none, min: 8 },
    { title: "Action", cell: ({ action }) => action },
    { title: "Target", cell: ({ target }) => target, min: 12 },
    { title: "Source", cell: ({ source }) => source, drop: 2 },
    { title: "Role", cell: ({ role }) => role ?? "", hidden: true },
    {
      title: "Details",
      cell: ({ details }) => detailsInWords(redact(details) as JsonValue | undefined),
      min: 16,
    },
  ];
}
