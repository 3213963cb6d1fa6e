import { expect, test } from "vitest";
import { adapters as mysql } from "../../src/store/mysql/caller-transaction.ts";
import { isDuplicate as isMysqlDuplicate } from "../../src/store/mysql/errors.ts";
import { adapters as postgres } from "../../src/store/postgres/caller-transaction.ts";
import { isDuplicate as isPostgresDuplicate } from "../../src/store/postgres/errors.ts";

/** The error of version 7 with a driver adapter. */
function refusal(originalCode: string, originalMessage: string): Error {
  const cause = { originalCode, originalMessage, kind: "UniqueConstraintViolation" };
  return Object.assign(new Error("Raw query failed."), {
    code: "P2010",
    meta: { driverAdapterError: { name: "DriverAdapterError", cause } },
  });
}

/** The argument of a transaction's function; it can begin a nested one. */
const transaction = (error?: Error) => {
  const answer = async () => {
    if (error) throw error;
    return [];
  };
  return { $queryRawUnsafe: answer, $executeRawUnsafe: answer, $transaction: answer };
};

test.each([
  { what: "PostgreSQL", adapters: postgres, code: "23505", isDuplicate: isPostgresDuplicate },
  { what: "MySQL", adapters: mysql, code: "1062", isDuplicate: isMysqlDuplicate },
])("Prisma on $what", async ({ adapters, code, isDuplicate }) => {
  const { sql } = (await adapters.adapt(transaction()))!;
  expect(await sql.all("select 1")).toEqual([]);

  const client = { ...transaction(), $connect: async () => {} };
  await expect(adapters.adapt(client)).rejects.toMatchObject({ code: "NOT_IN_TRANSACTION" });

  const refused = (await adapters.adapt(transaction(refusal(code, "twice"))))!.sql;
  for (const sent of [refused.run("insert"), refused.all("insert")]) {
    const error = await sent.catch((thrown: unknown) => thrown);
    expect(isDuplicate(error)).toBe(true);
    expect(error).toMatchObject({ code: "DATA_REJECTED", message: expect.stringContaining("twice") });
  }
});
