import type { ExchangeRequest } from "../store/store.ts";
import { Outbox, type OutboxParts } from "./outbox.ts";
import { Sleep } from "./waits.ts";

/**
 * Exchanges of one worker that follow one another. A stream settles the runs that it has claimed itself, so that two
 * exchanges under way never write to the same run (note 35).
 */
export class ExchangeStream {
  readonly number: ExchangeRequest["stream"];
  readonly outbox: Outbox;
  readonly sleep: Sleep;
  /** Whether an exchange is under way, or is about to be. */
  isBusy = false;
  /** Most runs that the claim under way may bring. */
  asked = 0;
  /** Whether to look for cancelled runs once more, after the answer to the claim under way. */
  mustLook = false;
  /** When the answer to the last exchange came. */
  answeredAt = 0;

  constructor(number: number, parts: OutboxParts) {
    this.number = number;
    this.sleep = new Sleep(parts.clock);
    this.outbox = new Outbox(parts, number);
  }

  /** Whether the stream claims runs of every kind. The other streams leave limited and crashed runs to it. */
  get isFirst(): boolean {
    return this.number === 0;
  }
}
