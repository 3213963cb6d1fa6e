import { describe, test } from "vitest";
import { selected } from "../conformance/support/stores.ts";
import { hasGroupReplication, startGroup } from "../servers/group-replication.ts";
import { testCluster } from "./support/cluster-tests.ts";

const isSelected = selected.some(({ name }) => name === "mysql");

if (!isSelected || !hasGroupReplication()) {
  test.todo("MySQL is not selected, or its plugin group_replication is not here");
} else {
  describe("three nodes of a MySQL group that all accept writes", () => {
    const catchUp = "set session group_replication_consistency = 'BEFORE'";
    testCluster({ start: startGroup, catchUp, waves: 2 });
  });
}
