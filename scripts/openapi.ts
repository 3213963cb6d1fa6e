import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openApiDocument } from "./openapi/document.ts";

/** Writes `docs/guide/openapi.json` from the contract of the dashboard's API. A test compares the two. */
const file = join(import.meta.dirname, "../docs/guide/openapi.json");
writeFileSync(file, `${JSON.stringify(openApiDocument(), null, 2)}\n`);
