import type { Readable } from "node:stream";

const LINES = 20;
const LENGTH = 4000;

/** Passes on what a child writes to standard error, and keeps the end of it for the message that tells why it ended. */
export class LastWords {
  #text = "";

  /** Without a stream: the system had no more for it, and so no process either. */
  constructor(stream: Readable | null | undefined) {
    if (!stream) return;
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => {
      process.stderr.write(text);
      this.add(text);
    });
    stream.on("error", () => {});
  }

  add(text: string): void {
    this.#text = (this.#text + text).slice(-LENGTH);
  }

  get text(): string {
    return this.#text.trim().split("\n").slice(-LINES).join("\n");
  }
}
