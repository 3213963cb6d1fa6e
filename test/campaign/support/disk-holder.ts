// Puts a folder on a small disk, and waits until it is killed.
import { SmallDisk } from "./small-disk.ts";

SmallDisk.under(process.argv[2]!);
setInterval(() => {}, 60_000);
