import { systemClock } from "../../time.ts";
import { describeFailure } from "../server/connections.ts";
import { HostConnections } from "../server/host-connections.ts";
import { ASK_TIMEOUT } from "../server/retries.ts";
import type { HeldClient, PoolConnections } from "./connections.ts";
import type { PgOwnClient } from "./driver.ts";
import { codeOf, isConnectionLost, isMisconfiguration, messageOf } from "./errors.ts";
import type { PostgresUrl } from "./url.ts";

/** On a standby transactions are read-only, as with default_transaction_read_only. */
export const IS_READ_ONLY = "current_setting('transaction_read_only') = 'on'";

/** The connections to the writer among the hosts of a URL. */
export function hostConnections(
  { hosts }: PostgresUrl,
  open: (index: number) => PoolConnections,
  makeClient: (index: number) => PgOwnClient,
): HostConnections<HeldClient, PoolConnections> {
  return new HostConnections<HeldClient, PoolConnections>({
    names: hosts.map(({ name }) => name),
    open,
    async isWriter(index) {
      const client = makeClient(index);
      client.on("error", () => {});
      const { promise: late, reject } = Promise.withResolvers<never>();
      const cancel = systemClock.after(ASK_TIMEOUT, () => reject(timedOut()));
      try {
        return await Promise.race([ask(client), late]);
      } finally {
        cancel();
        client.end().catch(() => {});
      }
    },
    isLost: isConnectionLost,
    isMisconfiguration,
    readOnlyError: () => Object.assign(new Error("the server is read-only"), { code: "25006" }),
    describe: (error) => describeFailure(codeOf(error), messageOf(error)),
  });
}

async function ask(client: PgOwnClient): Promise<boolean> {
  await client.connect();
  const { rows } = await client.query({ text: `select ${IS_READ_ONLY} as read_only` });
  return !(rows as { read_only: boolean }[])[0]!.read_only;
}

function timedOut(): Error {
  return Object.assign(new Error(`no answer within ${ASK_TIMEOUT / 1000} s`), { code: "ETIMEDOUT" });
}
