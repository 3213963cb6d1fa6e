import { afterEach, beforeEach } from "vitest";
import { startProxy, type TestProxy } from "../../servers/proxy.ts";
import type { ServerKind } from "../../servers/server.ts";
import { sharedServer } from "../../servers/shared.ts";
import { Scene } from "./server-scene.ts";

export interface BehindProxy {
  /** Between the code under test and the server. */
  readonly proxy: TestProxy;
  readonly scene: Scene;
}

/** Gives each test of the group a database that the code under test reaches through a proxy. */
export function behindProxy(kind: ServerKind): BehindProxy {
  let proxy: TestProxy;
  let scene: Scene;
  beforeEach(async () => {
    const { url } = await sharedServer(kind);
    const { port, hostname } = new URL(url);
    proxy = await startProxy(Number(port), hostname);
    scene = await Scene.on(kind, url, { through: (direct) => proxy.url(direct) });
  });
  afterEach(async () => {
    await scene.clear();
    await proxy.close();
  });
  return {
    get proxy() {
      return proxy;
    },
    get scene() {
      return scene;
    },
  };
}
