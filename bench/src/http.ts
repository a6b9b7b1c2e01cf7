/**
 * Measures `connector.http.request` against a server on this machine, next to plain undici. Run as a separate process:
 * `http.ts REQUESTS`, with the database in DATABASE_URL. Both make the same requests, as many at a time. Prints one
 * line of JSON with the requests per second of each.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connectors, httpRequest, loopbackEgress } from "@jobforge/connectors";
import { globalTenant, JobForge } from "@jobforge/sdk-ts";
import { migrate } from "@jobforge/sql";
import { createWorker } from "@jobforge/worker-ts";
import { Agent, request } from "undici";

const database = process.env["DATABASE_URL"] ?? "";
const requests = Number(process.argv[2]);
/** Requests at a time, and connections. */
const concurrency = 8;

let answered = 0;
let onAnswer: () => void = () => undefined;
const server = createServer((_, response) => {
  answered += 1;
  response.setHeader("content-type", "application/json").end('{"ok":true}');
  onAnswer();
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

await migrate({ database });
await using forge = new JobForge({ database });
const agent = new Agent({ connections: concurrency, pipelining: 1 });
// The first round warms both up: code is compiled, and connections are opened.
await asJobs(Math.ceil(requests / 4));
await plainly(Math.ceil(requests / 4));
const connector = await asJobs(requests);
const plain = await plainly(requests);
await agent.close();
server.close();
console.log(JSON.stringify({ connector, plain }));

/** Returns the requests per second of jobs, which are enqueued before the time starts. */
async function asJobs(count: number): Promise<number> {
  const jobs = Array.from({ length: count }, () => ({ job: httpRequest, input: { url } }));
  await forge.enqueueMany(jobs, { tenantId: globalTenant });
  const worker = createWorker(forge, {
    handlers: connectors({ forge, egress: loopbackEgress }),
    concurrency,
  });
  const all = untilAnswered(count);
  const start = performance.now();
  await worker.start();
  await all;
  const perSecond = count / ((performance.now() - start) / 1000);
  await worker.stop();
  return perSecond;
}

async function plainly(count: number): Promise<number> {
  const start = performance.now();
  const lanes = Array.from({ length: concurrency }, async (_, lane) => {
    for (let n = lane; n < count; n += concurrency) {
      const { body } = await request(url, { dispatcher: agent });
      await body.text();
    }
  });
  await Promise.all(lanes);
  return count / ((performance.now() - start) / 1000);
}

/** Resolves when the server has received this many more requests. */
async function untilAnswered(count: number): Promise<void> {
  const until = answered + count;
  await new Promise<void>((resolve) => {
    onAnswer = () => {
      if (answered >= until) resolve();
    };
  });
}
