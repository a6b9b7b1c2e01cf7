/** A contestant that keeps the contract and has no notion of anything, or breaks when it is taken as it comes. */
import { createInterface } from "node:readline";

const prepared = { version: "0", keeps: "nothing", settings: "none" };
const enqueued =
  process.env.BENCH_SETTINGS === "best"
    ? { unsupported: "it never enqueues" }
    : { error: "as it comes it breaks" };
const answers = { prepare: prepared, enqueue: enqueued, count: { done: 0, first: 0, last: 0 } };

createInterface({ input: process.stdin }).on("line", (line) => {
  console.log(JSON.stringify(answers[JSON.parse(line).do] ?? {}));
});
