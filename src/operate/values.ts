import { formatValue, PunctualError } from "../errors.ts";
import type { ValueField } from "../store/records.ts";
import type { Clock } from "../time.ts";

const FIELDS: Record<ValueField, true> = { job: true, queue: true, tag: true, worker: true, errortype: true };

/** Most values of one answer. */
const MOST_RETURNED = 50;

/** How long the values of a field are cached, in milliseconds: people type several letters a second. */
const CACHED = 30_000;

/** Values of fields of the query language, for completion. */
export class ValueCache {
  readonly #clock: Clock;
  readonly #cached = new Map<ValueField, { values: Promise<string[]>; until: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the values that begin with `prefix`, whatever the case of its letters, in order. */
  async find(
    field: ValueField,
    prefix: string,
    read: (field: ValueField) => Promise<string[]>,
  ): Promise<string[]> {
    if (!Object.hasOwn(FIELDS, field)) {
      const known = Object.keys(FIELDS).join(", ");
      throw new PunctualError(
        "INVALID_OPTION",
        `values() expected a field (${known}), got ${formatValue(field)}.`,
      );
    }
    const wanted = prefix.toLowerCase();
    const values = await this.#values(field, read);
    return values.filter((value) => value.toLowerCase().startsWith(wanted)).slice(0, MOST_RETURNED);
  }

  #values(field: ValueField, read: (field: ValueField) => Promise<string[]>): Promise<string[]> {
    const now = this.#clock.monotonic();
    const known = this.#cached.get(field);
    if (known && known.until > now) return known.values;
    const values = read(field);
    this.#cached.set(field, { values, until: now + CACHED });
    values.catch(() => this.#cached.delete(field));
    return values;
  }
}
