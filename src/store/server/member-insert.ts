import {
  admissionStatements,
  admit,
  type BatchMarks,
  batchInsertion,
  type Membership,
  membershipWrites,
} from "../sql/batch-membership.ts";
import type { ServerDatabase, Sql, Tables } from "../sql/database.ts";
import type { InsertResult } from "../store.ts";
import type { Inserter, NumberedRun } from "./insert.ts";

export interface MemberInserterParts {
  db: ServerDatabase;
  t: Tables;
  inserter: Inserter;
  /** The row in which the added members are counted. */
  who: string;
}

/** Inserts runs as members of a batch, inside one transaction. */
export class MemberInserter {
  readonly #parts: MemberInserterParts;
  readonly #membership: Membership;

  constructor(parts: MemberInserterParts, membership: Membership) {
    this.#parts = parts;
    this.#membership = membership;
  }

  /** Whether the batch is new, and needs an id. */
  get creates(): boolean {
    return "create" in this.#membership;
  }

  /** The id of a batch that exists; null: it is new. */
  get batch(): number | null {
    return "create" in this.#membership ? null : this.#membership.batch;
  }

  /** `committed`: see `Inserter`. */
  async insert(
    tx: Sql,
    { batch, runs }: { batch: number; runs: NumberedRun[] },
    now: number,
    committed: Sql = tx,
  ): Promise<InsertResult[]> {
    const { inserter, who } = this.#parts;
    const membership = this.#membership;
    if ("create" in membership) {
      const { text, params } = batchInsertion(this.#parts, membership.create, batch, now);
      // `all`, because the answer is needed: the id may be taken.
      await tx.all(text, ...params);
    } else {
      let marks: BatchMarks[] = [];
      for (const { text, params } of admissionStatements(this.#parts, batch))
        marks = await tx.all(text, ...params);
      admit(membership, marks[0]);
    }
    const inserted = await inserter.insert(tx, runs, now, committed);
    for (const { text, params } of membershipWrites(this.#parts, membership, { batch, inserted, who, now }))
      await tx.run(text, ...params);
    return inserted;
  }
}
