import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, sep } from "node:path";
import { isGone, processMark } from "../../../src/worker/process-mark.ts";
import { isRoot } from "../../servers/programs.ts";

/** As much as a campaign of an hour writes. It takes memory only as it fills. */
const SIZE = "4g";

/** Begins the name of each disk; the id and the mark of the process that made it follow. */
const NAME = "punctual-disk";

/** The disks of this process that are mounted. */
const mounted = new Set<SmallDisk>();

/** A file system in memory that can be made full. It is unmounted at the latest when this process exits. */
export class SmallDisk {
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  /** Puts a folder and what it contains on such a disk; null: this process may not mount one. */
  static under(path: string): SmallDisk | null {
    if (process.platform !== "linux" || !isRoot()) return null;
    const aside = `${path}.before`;
    const { uid, gid, mode } = statSync(path);
    renameSync(path, aside);
    mkdirSync(path);
    const isMounted = run("mount", "-t", "tmpfs", "-o", `size=${SIZE}`, ownName(), path);
    if (isMounted) {
      if (mounted.size === 0) process.once("exit", removeAll);
      const disk = new SmallDisk(path);
      mounted.add(disk);
      run("cp", "-a", `${aside}/.`, path);
      chownSync(path, uid, gid);
      chmodSync(path, mode & 0o777);
      rmSync(aside, { recursive: true });
      return disk;
    }
    rmSync(path, { recursive: true });
    renameSync(aside, path);
    return null;
  }

  /** From now on nothing more fits. */
  fill(): void {
    const { stdout } = spawnSync("df", ["-k", "--output=used", this.#path], { encoding: "utf8" });
    run("mount", "-o", `remount,size=${Number(stdout.split("\n")[1])}k`, this.#path);
  }

  free(): void {
    run("mount", "-o", `remount,size=${SIZE}`, this.#path);
  }

  /** Processes that use it may run until they end. */
  remove(): void {
    mounted.delete(this);
    if (mounted.size === 0) process.off("exit", removeAll);
    run("umount", "-l", this.#path);
  }

  /** Removes it with its folder. */
  discard(): void {
    this.remove();
    rmSync(this.#path, { recursive: true, force: true });
  }
}

/** A mounted disk, and the process that made it. */
export interface MountedDisk {
  path: string;
  pid: number;
  mark: string;
}

/** Lists the small disks of all processes. */
export function listDisks(): MountedDisk[] {
  if (process.platform !== "linux") return [];
  return readFileSync("/proc/mounts", "utf8")
    .split("\n")
    .flatMap((line) => {
      const [source = "", path = ""] = line.split(" ");
      const [name, pid, mark] = source.split("/");
      if (name !== NAME || mark === undefined) return [];
      // The kernel writes spaces and the like in octal.
      const readable = path.replace(/\\(\d{3})/g, (_, code: string) =>
        String.fromCharCode(Number.parseInt(code, 8)),
      );
      return [{ path: readable, pid: Number(pid), mark: decodeURIComponent(mark) }];
    });
}

/** Removes the disks that processes left which were killed, with their folders. Returns the paths. */
export function removeLeftDisks(): string[] {
  const left = listDisks().filter(({ pid, mark }) => isGone(pid, mark));
  for (const { path } of left) {
    run("umount", "-l", path);
    rmSync(temporaryFolder(path), { recursive: true, force: true });
  }
  return left.map(({ path }) => path);
}

/** Returns the folder of ours in the system's temporary folder that contains a path: of a server also its log. */
function temporaryFolder(path: string): string {
  const [name = ""] = relative(tmpdir(), path).split(sep);
  return name.startsWith("punctual-") ? join(tmpdir(), name) : path;
}

function removeAll(): void {
  for (const disk of [...mounted]) disk.discard();
}

function ownName(): string {
  return [NAME, process.pid, encodeURIComponent(processMark() ?? "")].join("/");
}

function run(file: string, ...args: string[]): boolean {
  return spawnSync(file, args, { stdio: "ignore" }).status === 0;
}
