import { closeSync, existsSync, openSync, readSync, writeSync } from "node:fs";
import { eventually } from "./eventually.ts";

/** One entry of a process. All members but the first four depend on `what`. */
export interface Entry {
  /** Milliseconds on the machine's monotonic clock, the same for all processes. */
  at: number;
  /** The name that the test gave the process. */
  by: string;
  pid: number;
  /** `start`, `end`, `abort` of a handler; `log`; `gone` of a process; or the name of an event. */
  what: string;
  run?: number;
  attempt?: number;
  crashes?: number;
  job?: string;
  key?: string | null;
  /** The reason of an abort, or an error. */
  code?: string;
  text?: string;
  ids?: number[];
}

export type Note = (what: string, more?: Partial<Entry>) => void;

/** One write for each line, straight to the file: what is noted survives the death of its process. */
export function noteIn(path: string, by: string): Note {
  const file = openSync(path, "a");
  return (what, more) => {
    const at = Number(process.hrtime.bigint()) / 1e6;
    writeSync(file, `${JSON.stringify({ at, by, pid: process.pid, what, ...more } satisfies Entry)}\n`);
  };
}

/** The entries of all processes of a test, in one file and so in one order. */
export class Journal {
  readonly path: string;
  readonly #entries: Entry[] = [];
  #file: number | null = null;
  #half = "";

  constructor(path: string) {
    this.path = path;
  }

  get entries(): readonly Entry[] {
    if (this.#file === null) {
      if (!existsSync(this.path)) return [];
      this.#file = openSync(this.path, "r");
    }
    const chunk = Buffer.alloc(1 << 20);
    for (let size = 1; size > 0; ) {
      size = readSync(this.#file, chunk, 0, chunk.length, null);
      const lines = (this.#half + chunk.toString("utf8", 0, size)).split("\n");
      this.#half = lines.pop()!;
      for (const line of lines) this.#entries.push(JSON.parse(line));
    }
    return this.#entries;
  }

  find(wanted: Partial<Entry>): Entry[] {
    const fields = Object.entries(wanted);
    return this.entries.filter((entry) =>
      fields.every(([field, value]) => entry[field as keyof Entry] === value),
    );
  }

  /** The first matching entry, as soon as there is one. */
  async until(wanted: Partial<Entry>): Promise<Entry> {
    const what = () =>
      `${JSON.stringify(wanted)} in the journal; ended by then: ${JSON.stringify(this.find({ what: "gone" }))}`;
    return eventually(what, () => this.find(wanted)[0]);
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
  }
}
