import { test } from "vitest";
import { exercise } from "./exercise.ts";
import { mariadbServer } from "./mysql-database.ts";
import { repeatedInstall } from "./mysql-install.ts";
import { selected } from "./stores.ts";

if (selected.includes(mariadbServer)) {
  exercise(mariadbServer);
  repeatedInstall(mariadbServer);
} else test.todo("MariaDB is not selected");
