/** One client of a storm, and the jobs and keys that all clients share. */
import type { TestConnection } from "@jobforge/testing";
import { largePayload } from "../archive.ts";
import { T, U, unknownId } from "../kernel.ts";
import type { Random } from "../random.ts";
import { type Known, type Ledger, type Run, unkept } from "./ledger.ts";

/** An application, a worker and an operator on one connection. All results of its calls go into the ledger. */
export interface Client {
  readonly name: string;
  readonly db: TestConnection;
  readonly random: Random;
  readonly ledger: Ledger;
  /** The runs that it has claimed and not ended. */
  held: Run[];
  hint: unknown;
  /** How often its process was restarted. */
  instance: number;
  /** How many payloads it has written. */
  payloads: number;
  /** Whether jobs have concurrency keys, and operators set limits. */
  readonly limited: boolean;
}

export const tenants: readonly string[] = [T, U, unknownId];
export const kept: readonly string[] = ["a", "b", "c", "d"];
export const subjects: readonly string[] = ["s1", "s2", "s3"];

const numbered = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `${name} ${String(n).padStart(3, "0")}`);
export const idempotencyKeys: readonly string[] = numbered("once", 150);
export const dedupeKeys: readonly string[] = numbered("one", 12);
export const concurrencyKeys: readonly string[] = numbered("after another", 6);

/** A job as jobforge_enqueue_jobs takes it. */
export type Draft = Record<string, unknown> & { type: string };

export const isLoose = (draft: Draft): boolean => !("idempotency_key" in draft || "dedupe_key" in draft);

/** Returns a unique payload, sometimes a large one. */
export function payload(client: Client): { token: string } {
  client.payloads += 1;
  const token = `${client.name} ${client.payloads}`;
  return client.random.chance(0.1) ? { token, ...largePayload } : { token };
}

/** Returns a job with random options. */
export function draft(client: Client): Draft {
  const { random } = client;
  const job: Draft = { type: random.pick([...kept, unkept]), payload: payload(client) };
  if (random.chance(0.3)) job["idempotency_key"] = random.pick(idempotencyKeys);
  if (random.chance(0.4)) Object.assign(job, dedupe(random));
  if (random.chance(0.3)) job["priority"] = random.below(4);
  if (random.chance(0.3)) job["max_attempts"] = 1 + random.below(3);
  if (random.chance(0.3)) job["tags"] = random.some(["x", "y", "z"], 2);
  if (random.chance(0.2)) job["run_at"] = soon(random);
  if (client.limited && random.chance(0.5)) job["concurrency_key"] = random.pick(concurrencyKeys);
  // A job without history can be counted only if a client gets its end, so bulk changes and expiry must not end it.
  if (job.type !== unkept && random.chance(0.5)) job["subject"] = random.pick(subjects);
  if (job.type !== unkept && random.chance(0.1))
    job["expires_at"] = new Date(Date.now() + 60_000).toISOString();
  return job;
}

/** Returns a dedupe key with a random mode. */
export function dedupe(random: Random): { dedupe_key: string; dedupe_mode: string } {
  return {
    dedupe_key: random.pick(dedupeKeys),
    dedupe_mode: random.pick(["skip", "replace", "debounce"]),
  };
}

/** Returns a time around now. */
export function soon(random: Random): string {
  return new Date(Date.now() - 500 + random.below(1000)).toISOString();
}

/** Returns an enqueued job, more often a recent one, or undefined if there is none yet. */
export function anyJob({ random, ledger }: Client, loose = false): Known | undefined {
  const known = loose ? ledger.known.filter((job) => job.loose) : ledger.known;
  if (known.length === 0) return undefined;
  return random.pick(random.chance(0.7) ? known.slice(-40) : known);
}
