import { PunctualError } from "../../errors.ts";

/** One host of a URL. */
export interface ListedHost {
  /** `host:port`, as messages name it. */
  name: string;
  /** The URL with this host alone. */
  url: string;
}

/** Scheme with user and password, hosts, and the rest. */
const PARTS = /^([a-z][a-z0-9+.-]*:\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/is;

const HOST = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/i;

/** Returns the hosts of `scheme://user:password@a,b:5433,c/database`; one, if the URL lists none. */
export function listHosts(url: string, server: string, defaultPort: number): ListedHost[] {
  const [, before = "", hosts = "", behind = ""] = PARTS.exec(url) ?? [];
  if (!hosts.includes(",")) return [{ name: named(hosts, defaultPort), url }];
  const list = hosts.split(",");
  const scheme = before.slice(0, before.indexOf(":"));
  const refuse = (wrong: string) => {
    throw new PunctualError(
      "DATABASE_URL",
      `The list of hosts in the ${server} URL ${wrong}. Write "${scheme}://user:password@a,b:${defaultPort},c/database": host names with or without a port, between commas.`,
    );
  };
  for (const host of list) {
    if (host === "") refuse("has an empty place");
    const [, , port] = HOST.exec(host) ?? refuse(`contains "${host}", which is no host`);
    if (port !== undefined && !(Number(port) >= 1 && Number(port) <= 65_535)) {
      refuse(`contains the port ${port}, which does not exist`);
    }
  }
  const names = list.map((host) => named(host, defaultPort));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) refuse(`names ${twice} twice`);
  return list.map((host, index) => ({ name: names[index]!, url: `${before}${host}${behind}` }));
}

function named(host: string, defaultPort: number): string {
  return /:\d+$/.test(host) && !host.endsWith("]") ? host : `${host || "localhost"}:${defaultPort}`;
}
