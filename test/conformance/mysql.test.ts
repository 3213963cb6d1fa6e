import { test } from "vitest";
import { exercise } from "./exercise.ts";
import { mysqlServer } from "./mysql-database.ts";
import { repeatedInstall } from "./mysql-install.ts";
import { selected } from "./stores.ts";

if (selected.includes(mysqlServer)) {
  exercise(mysqlServer);
  repeatedInstall(mysqlServer);
} else test.todo("MySQL is not selected");
