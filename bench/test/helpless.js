/** A contestant that follows the contract but supports nothing, and fails with default settings. */
import { createInterface } from "node:readline";

const prepared = { version: "0", keeps: "nothing", settings: "none" };
const enqueued =
  process.env.BENCH_SETTINGS === "best"
    ? { unsupported: "it never enqueues" }
    : { error: "it fails with default settings" };
const replies = { prepare: prepared, enqueue: enqueued, count: { done: 0, first: 0, last: 0 } };

createInterface({ input: process.stdin }).on("line", (line) => {
  console.log(JSON.stringify(replies[JSON.parse(line).do] ?? {}));
});
