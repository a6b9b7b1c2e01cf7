/** What a worker's process shows over HTTP to whoever watches it: whether it lives, whether it works, and its metrics. */
import { latencyBins as latencyBuckets, type Worker } from "@jobforge/worker-ts";
import { Hono } from "hono";
import { Counter, Gauge, Registry } from "prom-client";
import { type Listener, open } from "./listen.ts";
import { TimeHistogram } from "./metrics/histogram.ts";
import { processMetrics } from "./metrics/process.ts";

export interface MonitorOptions {
  /** 0 takes a free one. */
  readonly port: number;
  /** Default 127.0.0.1. Nobody is asked for a token: open it to the network of those who watch only. */
  readonly host?: string | undefined;
}

export interface Monitor extends AsyncDisposable {
  readonly url: string;
  close(): Promise<void>;
}

/** A worker that the database has not heard of for so long has lost what it held. */
const SILENT_MS = 60_000;

/** Serves `/healthz`, `/readyz` and `/metrics` of a worker. */
export async function monitorWorker(worker: Worker, options: MonitorOptions): Promise<Monitor> {
  const app = new Hono();
  app.get("/healthz", (c) => c.json({ ok: true }));
  app.get("/readyz", (c) => {
    const { heardAt } = worker.metrics();
    const isHeard = heardAt !== undefined && Date.now() - heardAt.getTime() < SILENT_MS;
    return isHeard ? c.json({ ok: true }) : c.json({ ok: false, reason: reasonOf(heardAt) }, 503);
  });
  app.get("/metrics", async (c) => {
    const { text, contentType } = await textOf(worker);
    return c.body(text, 200, { "content-type": contentType });
  });
  const listener: Listener = await open(app.fetch, options.port, options.host ?? "127.0.0.1");
  return { ...listener, [Symbol.asyncDispose]: () => listener.close() };
}

function reasonOf(heardAt: Date | undefined): string {
  return heardAt === undefined
    ? "the database has not heard of this worker yet"
    : `the database has not heard of this worker since ${heardAt.toISOString()}`;
}

/** The metrics as text, made anew each time from what the worker has counted. */
async function textOf(worker: Worker): Promise<{ readonly text: string; readonly contentType: string }> {
  const { claim, settle, runs, heardAt } = worker.metrics();
  const registry = new Registry();
  const registers = [registry];
  new Gauge({ name: "jobforge_worker_running", help: "Handler calls under way", registers }).set(
    worker.running,
  );
  const heard = heardAt === undefined ? 0 : heardAt.getTime() / 1000;
  new Gauge({
    name: "jobforge_worker_heard_timestamp_seconds",
    help: "When the database last heard of it",
    registers,
  }).set(heard);
  const ended = new Counter({
    name: "jobforge_worker_runs_total",
    help: "Runs by what became of them; claimed counts all",
    labelNames: ["outcome"],
    registers,
  });
  for (const [outcome, count] of Object.entries(runs)) ended.inc({ outcome }, count);
  const histogram = (name: string, help: string): TimeHistogram =>
    new TimeHistogram(registry, `jobforge_worker_${name}`, help, latencyBuckets);
  histogram("claim_seconds", "Calls for jobs").addCalls(claim);
  histogram("settle_seconds", "Calls that ended runs").addCalls(settle);
  const texts = [await registry.metrics(), await processMetrics().metrics()];
  return { text: texts.join("\n"), contentType: registry.contentType };
}
