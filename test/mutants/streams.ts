import type { Mutant } from "./mutant.ts";

const EXCHANGES = "src/worker/exchanges.ts";
const tests = ["test/unit/streams.test.ts"];

/** Mutants of a worker with two streams, each with an exchange under way. */
export const mutants: Mutant[] = [
  {
    rule: "Limited and crashed runs are left to the first stream.",
    file: EXCHANGES,
    find: "NO_ROOM : { ...room, limited: 0, crashed: 0 };",
    replace: "NO_ROOM : room;",
    tests,
  },
  {
    rule: "The second stream claims only while claims are full.",
    file: EXCHANGES,
    find: "this.#isFull = !unclaimed && claimed.length >= claim.limit;",
    replace: "this.#isFull = !unclaimed;",
    tests,
  },
  {
    rule: "The second stream claims only what is worth a transaction.",
    file: EXCHANGES,
    find: "room.limit < WORTH_A_CLAIM ? NO_ROOM",
    replace: "room.limit <= 0 ? NO_ROOM",
    tests,
  },
  {
    rule: "A stream settles the runs that it has claimed.",
    file: EXCHANGES,
    find: "run.stream = stream.number;",
    replace: "run.stream = 0;",
    tests,
  },
  {
    rule: "The runs that a claim under way may bring count as prefetched.",
    file: "src/worker/claim-request.ts",
    find: "free - buffer.size - asked;",
    replace: "free - buffer.size;",
    tests,
  },
  {
    rule: "The runs that a claim under way may bring count towards the budget.",
    file: "src/worker/claim-request.ts",
    find: "- claimed - asked, batch ?? room);",
    replace: "- claimed, batch ?? room);",
    tests,
  },
  {
    rule: "Unlimited runs that the second stream asks for do not starve limited ones.",
    file: "src/worker/claim-request.ts",
    find: "size + asked > limited",
    replace: "size > limited",
    tests: ["test/unit/claim-request.test.ts"],
  },
  {
    rule: "A worker ends when the exchanges of both streams have ended.",
    file: EXCHANGES,
    find: "    if (this.#streams.some(({ isBusy }) => isBusy)) return false;\n",
    replace: "",
    tests,
  },
  {
    rule: "The second stream writes the starts of its runs although none has ended.",
    file: EXCHANGES,
    find: "if (claim || stream.outbox.size > 0 || started.length > 0) {",
    replace: "if (claim || stream.outbox.size > 0) {",
    tests,
  },
  {
    rule: "A settlement of the second stream is followed by a claim.",
    file: EXCHANGES,
    find: "if (!claim) this.#hungry = true;",
    replace: "",
    tests,
  },
  {
    rule: "An outage lasts until both streams have succeeded.",
    file: "src/worker/outbox.ts",
    find: "stream === 0 ? DUTY : `${DUTY} (stream ${stream})`",
    replace: "DUTY",
    tests,
  },
  {
    rule: "A run that is cancelled while a stream claims it is found by another look.",
    file: EXCHANGES,
    find: "other.mustLook ||= other.asked > 0;",
    replace: "other.mustLook ||= false;",
    tests,
  },
  {
    rule: "The number of an exchange says nothing about the other stream.",
    file: "src/store/sql/settle.ts",
    find: "set seq = ? where worker = ? and stream = ?`",
    replace: "set seq = ? where worker = ? and stream >= 0 * ?`",
    tests: ["test/conformance/sqlite.test.ts"],
    only: "an exchange whose answer was lost",
    stores: ["sqlite"],
  },
];
