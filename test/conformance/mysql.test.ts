import { test } from "vitest";
import { exercise } from "./groups/exercise.ts";
import { repeatedInstall } from "./groups/mysql-install.ts";
import { mysqlServer } from "./support/mysql-database.ts";
import { selected } from "./support/stores.ts";

if (selected.includes(mysqlServer)) {
  exercise(mysqlServer);
  repeatedInstall(mysqlServer);
} else test.todo("MySQL is not selected");
