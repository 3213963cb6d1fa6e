import { describe } from "vitest";
import { selected } from "../../conformance/support/stores.ts";
import { findServer } from "../../servers/find.ts";
import { label, type ServerKind, serverKinds } from "../../servers/server.ts";

const isSelected = (kind: ServerKind) => selected.some(({ name }) => name === kind);

/** One group of tests for each selected server, as for the conformance suite. */
export function onEachServer(tests: (kind: ServerKind) => void): void {
  for (const kind of serverKinds) {
    if (isSelected(kind)) describe(label[kind], () => tests(kind));
    else describe.todo(`${label[kind]} is not selected`);
  }
}

/** The same for tests that need their own server: a server given by a URL must not be killed. */
export function onOwnServer(
  tests: (kind: ServerKind) => void,
  kinds: readonly ServerKind[] = serverKinds,
): void {
  for (const kind of kinds) {
    if (isSelected(kind) && findServer(kind)) describe(label[kind], () => tests(kind));
    else describe.todo(`${label[kind]} is not selected, or its programs are not here`);
  }
}
