/**
 * One measurement of one contender in a process of its own: `child.ts MODULE drain COUNT` or `child.ts MODULE latency COUNT`.
 * Prints one line of JSON.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { QueueContender } from "./contender.ts";

const [module = "", mode = "", count = "0"] = process.argv.slice(2);
const { contender } = (await import(pathToFileURL(module).href)) as { contender: QueueContender };
await contender.prepare();
const answer = mode === "drain" ? await drain(Number(count)) : await latency(Number(count));
console.log(JSON.stringify(answer));

/** Jobs a second from the first one that runs until all have ended and the worker has stopped. */
async function drain(jobs: number): Promise<object> {
  const before = performance.now();
  await contender.enqueue(jobs);
  const enqueueSeconds = (performance.now() - before) / 1000;
  let started: number | undefined;
  let done = 0;
  const { promise: allRan, resolve } = signal();
  const stop = await contender.start(() => {
    started ??= performance.now();
    done += 1;
    if (done === jobs) resolve();
  });
  await allRan;
  await stop();
  return { jobs, enqueueSeconds, seconds: (performance.now() - (started ?? 0)) / 1000 };
}

/** Milliseconds from the call that enqueues one job until its handler runs, on an idle worker. */
async function latency(jobs: number): Promise<object> {
  let arrived: () => void = () => undefined;
  const stop = await contender.start(() => arrived());
  const { send, close } = await contender.sender();
  const waits: number[] = [];
  for (let n = 0; n < jobs + 10; n += 1) {
    // Long enough for the worker to fall asleep again, and never the same.
    await sleep(20 + Math.random() * 40);
    const { promise, resolve } = signal();
    arrived = resolve;
    const sent = performance.now();
    await send();
    await promise;
    if (n >= 10) waits.push(performance.now() - sent);
  }
  await stop();
  await close();
  waits.sort((a, b) => a - b);
  const at = (share: number): number => waits[Math.floor(waits.length * share)] ?? Number.NaN;
  return { jobs, median: at(0.5), p95: at(0.95) };
}

function signal(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
