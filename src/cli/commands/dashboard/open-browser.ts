import { spawn } from "node:child_process";

/** The program that opens a URL, by platform. */
const OPENERS: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ["open"],
  // Not `start`, whose shell would interpret characters of the URL.
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** Opens a URL in the browser of this machine. Returns why it failed, or null. */
export function openBrowser(url: string): Promise<string | null> {
  const [program, ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  return new Promise((resolve) => {
    const child = spawn(program, [...args, url], { stdio: "ignore", detached: true });
    child.once("error", (error) => resolve(error.message));
    child.once("spawn", () => {
      child.unref();
      resolve(null);
    });
  });
}
