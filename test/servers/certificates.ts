import { spawnSync } from "node:child_process";
import { chownSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findProgram } from "./programs.ts";

export interface Authority {
  /** The authority's own certificate: a file, and its content. */
  file: string;
  pem: string;
  key: string;
}

export interface Certificate {
  file: string;
  key: string;
}

/** Certificates in a new folder, which the caller removes. */
export class Certificates {
  readonly folder: string = mkdtempSync(join(tmpdir(), "punctual-certificates-"));
  readonly #owner: { uid: number; gid: number } | undefined;

  /** Servers refuse a key that other users may read. */
  constructor(owner?: { uid: number; gid: number }) {
    this.#owner = owner;
    if (owner) chownSync(this.folder, owner.uid, owner.gid);
  }

  authority(name: string): Authority {
    const { file, key } = this.#make(name, `/CN=${name}`);
    return { file, key, pem: readFileSync(file, "utf8") };
  }

  /** For a server at this address, e.g. `DNS:localhost`; replaces an earlier one of the same name. */
  server(name: string, address: string, by: Authority): Certificate {
    return this.#make(
      name,
      `/CN=${name}`,
      "-CA",
      by.file,
      "-CAkey",
      by.key,
      "-addext",
      `subjectAltName=${address}`,
    );
  }

  #make(name: string, subject: string, ...more: string[]): Certificate {
    const file = join(this.folder, `${name}.pem`);
    const key = join(this.folder, `${name}.key`);
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];
    openssl(
      "req",
      "-x509",
      ...curve,
      "-nodes",
      "-days",
      "2",
      "-subj",
      subject,
      "-keyout",
      key,
      "-out",
      file,
      ...more,
    );
    if (this.#owner) for (const path of [file, key]) chownSync(path, this.#owner.uid, this.#owner.gid);
    return { file, key };
  }
}

function openssl(...args: string[]): void {
  const program = findProgram("openssl");
  if (!program) throw new Error("openssl was not found: install it (Debian: apt-get install openssl).");
  const { status, stderr } = spawnSync(program, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`openssl ${args.join(" ")} failed:\n${stderr}`);
}
