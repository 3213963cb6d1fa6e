// Starts a server, prints its process id and its data folder, and waits to be killed. Argument: kind.
import type { ServerKind } from "./server.ts";
import { startServer } from "./start.ts";

const server = await startServer(process.argv[2] as ServerKind);
process.stdout.write(JSON.stringify({ pid: server.pid, dataDir: server.dataDir }));
setInterval(() => {}, 2 ** 30);
