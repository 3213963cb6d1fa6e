import { describeFailure } from "../server/connections.ts";
import { answerInTime, HostConnections } from "../server/host-connections.ts";
import type { HeldClient, PoolConnections } from "./connections.ts";
import type { PgOwnClient } from "./driver.ts";
import { codeOf, isConnectionLost, isMisconfiguration, messageOf } from "./errors.ts";
import type { PostgresUrl } from "./url.ts";

/** On a standby transactions are read-only, as with default_transaction_read_only. */
export const IS_READ_ONLY = "current_setting('transaction_read_only') = 'on'";

/** Returns the connections to the writer among the hosts of a URL. */
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
      try {
        return await answerInTime(ask(client));
      } finally {
        client.end().catch(() => {});
      }
    },
    isLost: isConnectionLost,
    isMisconfiguration,
    readOnlyError: () => Object.assign(new Error("the server is read-only"), { code: "25006" }),
    describe: (error) => describeFailure(codeOf(error), messageOf(error)),
  });
}

/** Whether the host of this client can be written. */
async function ask(client: PgOwnClient): Promise<boolean> {
  await client.connect();
  const { rows } = await client.query({ text: `select ${IS_READ_ONLY} as read_only` });
  return !(rows as { read_only: boolean }[])[0]!.read_only;
}
