import { type FSWatcher, readdirSync, statSync, watch } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { systemClock } from "../../../time.ts";
import { nameOfFile } from "../../load/find-files.ts";

/** Milliseconds without an event before changes are reported: one save emits several events. */
const SETTLED_AFTER = 150;

const isSource = (name: string) => /\.([cm]?[jt]s|json)$/.test(name) && !name.endsWith(".d.ts");
const isFolder = (name: string) => !name.startsWith(".") && name !== "node_modules";

/** Watches the folders of these files and their subfolders, and reports changed files. Returns a function to stop. */
export function watchFolders(files: readonly string[], changed: (files: string[]) => void): () => void {
  const watchers = new Map<string, FSWatcher>();
  const changedFiles = new Set<string>();
  const times = new Map<string, number>();
  let cancel = () => {};
  const note = (file: string) => {
    const time = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    // Some platforms emit an event for a mere read.
    if (times.get(file) === time) return;
    times.set(file, time);
    changedFiles.add(nameOfFile(file));
    cancel();
    cancel = systemClock.after(SETTLED_AFTER, () => {
      const all = [...changedFiles].sort();
      changedFiles.clear();
      changed(all);
    });
  };
  const add = (folder: string, deep: boolean) => {
    if (watchers.has(folder)) return;
    try {
      for (const entry of readdirSync(folder, { withFileTypes: true })) {
        const path = join(folder, entry.name);
        if (entry.isDirectory()) {
          if (deep && isFolder(entry.name)) add(path, deep);
        } else if (isSource(entry.name)) {
          times.set(path, statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0);
        }
      }
      const watcher = watch(folder, (_, name) => {
        if (name === null) return;
        const path = join(folder, name);
        if (isSource(name)) note(path);
        else if (deep && isFolder(name) && statSync(path, { throwIfNoEntry: false })?.isDirectory())
          add(path, deep);
      });
      watcher.on("error", () => watchers.delete(folder));
      watchers.set(folder, watcher);
    } catch {
      // The folder was deleted while it was read.
    }
  };
  const here = resolve(".");
  for (const folder of new Set(files.map((file) => dirname(file)))) {
    // Subfolders of the project's root are not watched: they may contain anything.
    add(folder, folder !== here);
  }
  return () => {
    cancel();
    for (const watcher of watchers.values()) watcher.close();
  };
}
