import { test } from "vitest";
import { exercise } from "./exercise.ts";
import { postgres } from "./postgres-database.ts";
import { selected } from "./stores.ts";

if (selected.includes(postgres)) exercise(postgres);
else test.todo("PostgreSQL is not selected");
