/** The kernel's functions that a worker calls, each bounded in time: a network that stalls must not stop the worker for good. */
import { JsonText, type Transport, toStorableJson } from "@jobforge/sdk-ts";
import type { DatabaseClock } from "../presence/clock.ts";
import { type Turnstile, turnstileOf } from "../running/connection-budget.ts";
import type { Ask, HeartbeatAnswer, Held, SettleAnswer } from "./protocol.ts";

const SETTLE_TIMEOUT_MS = 30_000;
const TIMEOUT_MS = 10_000;

export class Kernel {
  readonly transport: Transport;
  readonly workerId: string;
  readonly clock: DatabaseClock;
  /** Where handlers' transactions wait for a connection. */
  readonly turnstile: Turnstile;
  readonly #tenantId: string | undefined;
  readonly #types: readonly string[];

  constructor(
    transport: Transport,
    clock: DatabaseClock,
    worker: { readonly id: string; readonly types: readonly string[]; readonly tenantId: string | undefined },
  ) {
    this.transport = transport;
    this.turnstile = turnstileOf(transport);
    this.workerId = worker.id;
    this.clock = clock;
    this.#tenantId = worker.tenantId;
    this.#types = worker.types;
  }

  /** Ends runs, whose ends are given as JSON, and claims what is asked for: in one commit. */
  async settle(ends: readonly string[], ask?: Ask, hint?: unknown): Promise<SettleAnswer> {
    const args = {
      p_worker_id: this.workerId,
      p_results: new JsonText(`[${ends.join()}]`),
      p_claim_limit: ask?.limit ?? 0,
      p_types: ask?.types ?? this.#types,
      p_tenant_id: this.#tenantId,
      p_hint: hint,
    };
    const options = { timeoutMs: SETTLE_TIMEOUT_MS };
    const calledAt = this.clock.mark();
    const answer = await this.transport.call<SettleAnswer>("jobforge_exchange_jobs", args, options);
    this.clock.learn(answer.now, calledAt);
    return answer;
  }

  /** Ends one run in a transaction. */
  async endIn(transaction: Transport, end: string): Promise<SettleAnswer> {
    const args = { p_worker_id: this.workerId, p_results: new JsonText(`[${end}]`) };
    return await transaction.call<SettleAnswer>("jobforge_exchange_jobs", args, {
      timeoutMs: SETTLE_TIMEOUT_MS,
    });
  }

  async heartbeat(info: Readonly<Record<string, unknown>>): Promise<HeartbeatAnswer> {
    const args = { p_worker_id: this.workerId, p_info: info };
    const options = { timeoutMs: TIMEOUT_MS };
    const calledAt = this.clock.mark();
    const answer = await this.transport.call<HeartbeatAnswer>("jobforge_heartbeat_worker", args, options);
    this.clock.learn(answer.now, calledAt);
    return answer;
  }

  async progress(held: Held, progress: unknown): Promise<{ readonly cancel_requested: boolean }> {
    const args = {
      p_job_id: held.id,
      p_worker_id: this.workerId,
      p_progress: toStorableJson(progress, "progress"),
      p_attempt: held.attempt,
    };
    return await this.transport.call("jobforge_progress_job", args, { timeoutMs: TIMEOUT_MS });
  }

  async policy(
    type: string,
  ): Promise<{ readonly timeout_ms: number | null; readonly redact?: readonly string[] | null }> {
    return await this.transport.call("jobforge_get_policy", { p_type: type }, { timeoutMs: TIMEOUT_MS });
  }
}
