/** Load: a thousand enqueues at once while two hundred clients follow the stream. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect } from "vitest";
import { type Events, openEvents } from "./support/events.ts";
import { appToken, sign, startServer, test } from "./support/server.ts";

const enqueueCount = 1000;
const streamCount = 200;
const tenants = Array.from({ length: 10 }, (_, index) => `${index}0000000-0000-4000-8000-000000000000`);

test("a thousand enqueues at once with two hundred streams cause no error and leave nothing behind", {
  timeout: 180_000,
}, async ({ db }) => {
  const before = openSockets();
  await using http = await startServer(db, { poolSize: 10, timeoutMs: 120_000 });
  const tokens = await Promise.all(tenants.map(appToken));
  const tokenOf = (index: number): string => tokens[index % tokens.length] ?? "";
  const streams: Events[] = [];
  for (let index = 0; index < streamCount; index += 1)
    streams.push(await openEvents(`${http.url}/v1/stream`, tokenOf(index)));
  expect(new Set(streams.map(({ status }) => status))).toEqual(new Set([200]));

  const { statuses, seconds } = await enqueueAll(http.url, tokens);
  console.log(
    `${enqueueCount} enqueues over HTTP with ${streamCount} streams: ${Math.round(enqueueCount / seconds)} a second`,
  );
  expect(statuses).toEqual({ 201: enqueueCount });
  expect(await db.value("select count(*)::int from jobforge_jobs")).toBe(enqueueCount);

  const each = enqueueCount / tenants.length;
  await Promise.all(
    streams.map((stream) => stream.next(({ event, data }) => event === "changed" && data["queued"] === each)),
  );
  await db.query("select jobforge_complete_job(id, 'w', 'succeeded') from jobforge_claim_jobs('w', 10)");
  const finished = streams.map((stream) => stream.next(({ event }) => event === "finished"));
  // Tenants take turns, so a claim of ten jobs takes one job of each tenant.
  await Promise.all(finished);

  for (const stream of streams) await stream[Symbol.asyncDispose]();
  const token = await sign({ role: "jobforge_reader" });
  const metrics = async (): Promise<string> => await (await http.request("/metrics", { token })).text();
  await expect.poll(metrics, { timeout: 20_000 }).toContain("\njobforge_streams 0\n");
  expect(await metrics()).toContain('\njobforge_pool_connections{state="waiting"} 0\n');
  const connections = await db.value<number>(
    "select count(*)::int from pg_stat_activity where application_name = 'jobforge-server' and datname = current_database()",
  );
  expect(connections).toBeLessThanOrEqual(10);
  await http.server.close();
  // The server, its pool and its clients have closed all their sockets.
  await expect.poll(openSockets, { timeout: 20_000 }).toBeLessThanOrEqual(before);
});

/** The open sockets of this process. */
function openSockets(): number {
  return process.getActiveResourcesInfo().filter((kind) => /^(TCP|Pipe).*Wrap$/.test(kind)).length;
}

async function enqueueAll(
  url: string,
  tokens: readonly string[],
): Promise<{ statuses: object; seconds: number }> {
  const program = fileURLToPath(new URL("fixtures/crowd.js", import.meta.url));
  const env = { ...process.env, URL: url, COUNT: String(enqueueCount), TOKENS: tokens.join(" ") };
  const { stdout } = await promisify(execFile)(process.execPath, [program], { env });
  return JSON.parse(stdout) as { statuses: object; seconds: number };
}
