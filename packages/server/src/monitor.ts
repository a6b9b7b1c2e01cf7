/** The HTTP port of a worker process, for probes and Prometheus: health, readiness and metrics. */
import { latencyBins, type Worker, workerTimeoutMs } from "@jobforge/worker-ts";
import { Hono } from "hono";
import { Counter, Gauge, Registry } from "prom-client";
import { defaultHost, type Listener, open } from "./listen.ts";
import { TimeHistogram } from "./metrics/histogram.ts";
import { processMetrics } from "./metrics/process.ts";

export interface MonitorOptions {
  /** 0 chooses a free port. */
  readonly port: number;
  /** Default 127.0.0.1. The port needs no token, so open it only to the network of probes and scrapers. */
  readonly host?: string | undefined;
}

export interface Monitor extends AsyncDisposable {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves `/healthz`, `/readyz` and `/metrics` of a worker. */
export async function monitorWorker(worker: Worker, options: MonitorOptions): Promise<Monitor> {
  const app = new Hono();
  app.get("/healthz", (c) => c.json({ ok: true }));
  app.get("/readyz", (c) => {
    const { heardAt } = worker.metrics();
    const isReady = heardAt !== undefined && Date.now() - heardAt.getTime() < workerTimeoutMs;
    return isReady ? c.json({ ok: true }) : c.json({ ok: false, reason: reasonOf(heardAt) }, 503);
  });
  app.get("/metrics", async (c) => {
    const { text, contentType } = await textOf(worker);
    return c.body(text, 200, { "content-type": contentType });
  });
  const listener: Listener = await open(app.fetch, options.port, options.host ?? defaultHost);
  return { ...listener, [Symbol.asyncDispose]: () => listener.close() };
}

function reasonOf(heardAt: Date | undefined): string {
  return heardAt === undefined
    ? "the database has not received a heartbeat from this worker yet"
    : `the database has not received a heartbeat from this worker since ${heardAt.toISOString()}`;
}

/** The metrics as text, built for each request from the worker's counters. */
async function textOf(worker: Worker): Promise<{ readonly text: string; readonly contentType: string }> {
  const { claim, settle, runs, handed, heardAt } = worker.metrics();
  const registry = new Registry();
  const registers = [registry];
  new Gauge({ name: "jobforge_worker_running", help: "Handler calls in progress", registers }).set(
    worker.running,
  );
  const heard = heardAt === undefined ? 0 : heardAt.getTime() / 1000;
  new Gauge({
    name: "jobforge_worker_heard_timestamp_seconds",
    help: "When the database last received a heartbeat from this worker",
    registers,
  }).set(heard);
  const ended = new Counter({
    name: "jobforge_worker_runs_total",
    help: "Runs by outcome. The outcome claimed counts all runs",
    labelNames: ["outcome"],
    registers,
  });
  for (const [outcome, count] of Object.entries(runs)) ended.inc({ outcome }, count);
  new Counter({
    name: "jobforge_worker_handed_total",
    help: "Jobs that enqueues have handed to this worker, without a claim",
    registers,
  }).inc(handed);
  const histogram = (name: string, help: string): TimeHistogram =>
    new TimeHistogram(registry, `jobforge_worker_${name}`, help, latencyBins);
  histogram("claim_seconds", "Duration of calls that claim jobs").addCalls(claim);
  histogram("settle_seconds", "Duration of calls that settle runs").addCalls(settle);
  const texts = [await registry.metrics(), await processMetrics().metrics()];
  return { text: texts.join("\n"), contentType: registry.contentType };
}
