import type { Command } from "commander";
import type { Duration } from "../../../time.ts";
import type { Cli } from "../../cli.ts";
import { duration } from "../../input/arguments.ts";
import { openExisting } from "../../load/database.ts";
import { plain } from "../../output/output.ts";
import { operatorName, recordAction } from "../../record-action.ts";
import { stamp } from "../../render/formats.ts";
import { pageOf } from "../../render/page.ts";

/** `punctual mute` */
export function mute(command: Command, cli: Cli): void {
  command
    .description(
      "Mute a group of failures: its jobs no longer count as failing because of this error. Its runs still fail.",
    )
    .argument("<fingerprint>", "the group; punctual list failures --columns fingerprint,error prints them")
    .option("--for <duration>", "end after this long, such as 4h, 1d", duration)
    .option("--reason <text>", "the reason, shown with the mute")
    .action(async (fingerprint: string, { for: span, reason }: { for?: Duration; reason?: string }) => {
      const jobs = await openExisting(cli);
      const given = { ...(span !== undefined && { for: span }), ...(reason !== undefined && { reason }) };
      await jobs.mute(fingerprint, { by: operatorName(), ...given });
      await recordAction(cli, jobs, { action: "failure.mute", target: fingerprint, details: given });
      const muted = (await jobs.mutes()).find((one) => one.fingerprint === fingerprint);
      const until = muted?.until ?? null;
      const { output } = cli;
      if (output.isJson) output.json({ muted: { fingerprint, until } });
      else {
        const end = until === null ? "" : ` until ${stamp(until, pageOf(cli).zone)}`;
        output.print(`failures ${plain(fingerprint)} muted${end}`);
      }
    });
}

/** `punctual unmute` */
export function unmute(command: Command, cli: Cli): void {
  command
    .description("End the mute of a group of failures.")
    .argument("<fingerprint>", "the group")
    .action(async (fingerprint: string) => {
      const jobs = await openExisting(cli);
      const ended = await jobs.unmute(fingerprint);
      if (ended)
        await recordAction(cli, jobs, { action: "failure.unmute", target: fingerprint, details: {} });
      const { output } = cli;
      if (output.isJson) output.json({ unmuted: ended ? [fingerprint] : [] });
      else output.print(`failures ${plain(fingerprint)} ${ended ? "unmuted" : "were not muted"}`);
    });
}
