import { test } from "vitest";
import { exercise } from "./groups/exercise.ts";
import { repeatedInstall } from "./groups/mysql-install.ts";
import { mariadbServer } from "./support/mysql-database.ts";
import { selected } from "./support/stores.ts";

if (selected.includes(mariadbServer)) {
  exercise(mariadbServer);
  repeatedInstall(mariadbServer);
} else test.todo("MariaDB is not selected");
