import { brand } from "../errors.ts";
import { decodePayload, encodePayload, type JsonValue } from "../run/payload.ts";

/** Arguments as they were when they were given: what their owner changes afterwards is not sent. */
export class Snapshot {
  readonly #json: string | undefined;
  readonly #refusal: { reason: unknown } | null = null;

  constructor(value: unknown, maxBytes: number) {
    try {
      this.#json = encodePayload(value, maxBytes);
    } catch (reason) {
      this.#refusal = { reason };
    }
  }

  static of(args: unknown, maxBytes: number): Snapshot {
    return args instanceof Snapshot ? args : new Snapshot(args, maxBytes);
  }

  /** Null: none were given. Throws what makes them impossible to send. */
  get json(): string | null {
    if (this.#refusal) throw this.#refusal.reason;
    return this.#json ?? null;
  }

  /** As the handler will get them. */
  get value(): JsonValue {
    return decodePayload(this.json) ?? {};
  }
}

brand(Snapshot, "Snapshot");
