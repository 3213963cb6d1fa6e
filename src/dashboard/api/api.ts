import type { Punctual } from "../../punctual.ts";
import type { Api, ApiSettings, Route } from "../server/route.ts";

/** Returns the API of one dashboard. */
export function createApi(_jobs: Punctual, _settings: ApiSettings): Api {
  const routes: Route[] = [];
  return { routes, close: () => {} };
}
