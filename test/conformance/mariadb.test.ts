import { test } from "vitest";
import { exercise } from "./exercise.ts";
import { mariadbServer } from "./mysql-database.ts";
import { selected } from "./stores.ts";

if (selected.includes(mariadbServer)) exercise(mariadbServer);
else test.todo("MariaDB is not selected");
