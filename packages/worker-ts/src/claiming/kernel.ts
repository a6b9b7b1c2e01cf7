/** The database functions that a worker calls. Each call has a timeout: a stalled network must not stop the worker. */
import { createHash } from "node:crypto";
import {
  type Artifacts,
  checkResult,
  JsonText,
  type Listener,
  type Transport,
  toStorableJson,
} from "@jobforge/sdk-ts";
import type { Backend, BackendWorker, DatabaseParts, EndedRun, WakeEvents } from "../backend.ts";
import { callTimeoutMs, settleTimeoutMs } from "../defaults.ts";
import type { TypePolicy } from "../handled-type.ts";
import { DatabaseClock } from "../presence/clock.ts";
import { type ConnectionBudget, connectionBudgetOf } from "../running/connection-budget.ts";
import type { ClaimedJob, ClaimRequest, HeartbeatResponse, RunKey, SettleResponse } from "./protocol.ts";

/**
 * `jobforge_settle_jobs` with its response as JSON text: building a jsonb of hundreds of jobs costs an eighth of the
 * call.
 */
const settleFunction = "jobforge_settle_jobs_text";

const wakeChannel = "jobforge_wake";
const cancelChannel = "jobforge_cancel";

export class Kernel implements Backend, DatabaseParts {
  readonly transport: Transport;
  readonly workerId: string;
  readonly clock: DatabaseClock = new DatabaseClock();
  /** Limits how many connections handlers' transactions take. */
  readonly connections: ConnectionBudget;
  /** The names of the handled types. */
  readonly types: readonly string[];
  readonly #tenantId: string | undefined;

  readonly artifacts: Artifacts | undefined;

  constructor(transport: Transport, worker: BackendWorker, artifacts?: Artifacts | undefined) {
    this.transport = transport;
    this.artifacts = artifacts;
    this.connections = connectionBudgetOf(transport);
    this.workerId = worker.id;
    this.#tenantId = worker.tenantId;
    this.types = worker.definitions.map(({ type }) => type);
  }

  get database(): DatabaseParts {
    return this;
  }

  /** Undefined if the transport cannot listen. */
  get listen(): Backend["listen"] {
    const { transport } = this;
    return transport.listen === undefined ? undefined : (events) => this.#listen(events);
  }

  async #listen({ instance, onDue, onHanded, onCancel, onState }: WakeEvents): Promise<Listener> {
    // The database cuts ids to this length, because the payload of a notification is short.
    const workerId = this.workerId.slice(0, 1000);
    const handChannels = instance === undefined ? [] : [handChannelOf(this.workerId, instance)];
    const listening = this.transport.listen?.([wakeChannel, cancelChannel, ...handChannels], {
      onState,
      onNotification: (channel, payload) => {
        const [type = "", time] = payload.split("\n");
        if (channel === wakeChannel) onDue(type, time);
        else if (handChannels.includes(channel)) onHanded?.(payload);
        else if (payload === workerId) onCancel();
      },
    });
    return (await listening) ?? { close: async () => undefined };
  }

  /** Settles runs, and claims jobs if a request is given: in one commit. */
  async settle(ends: readonly EndedRun[], request?: ClaimRequest, hint?: unknown): Promise<SettleResponse> {
    const args = {
      p_worker_id: this.workerId,
      p_results: new JsonText(`[${ends.map(({ endJson }) => endJson).join()}]`),
      p_claim_limit: request?.limit ?? 0,
      // Without types, a call that claims nothing does not look for the next job either.
      p_types: request?.types ?? [],
      p_tenant_id: this.#tenantId,
      p_hint: hint,
    };
    const options = { timeoutMs: settleTimeoutMs };
    const calledAt = this.clock.mark();
    const response = await this.transport.call<SettleResponse>(settleFunction, args, options);
    this.clock.learn(response.now, calledAt);
    return response;
  }

  /** Settles one run inside a transaction. */
  async settleIn(transaction: Transport, end: string): Promise<SettleResponse> {
    const args = { p_worker_id: this.workerId, p_results: new JsonText(`[${end}]`), p_types: [] };
    return await transaction.call<SettleResponse>(settleFunction, args, { timeoutMs: settleTimeoutMs });
  }

  async heartbeat(info: Readonly<Record<string, unknown>>): Promise<HeartbeatResponse> {
    const args = { p_worker_id: this.workerId, p_info: info };
    const options = { timeoutMs: callTimeoutMs };
    const calledAt = this.clock.mark();
    const response = await this.transport.call<HeartbeatResponse>("jobforge_heartbeat_worker", args, options);
    this.clock.learn(response.now, calledAt);
    return response;
  }

  async receive(ids: readonly string[]): Promise<readonly ClaimedJob[]> {
    const args = { p_worker_id: this.workerId, p_ids: ids };
    return await this.transport.call("jobforge_receive_jobs", args, { timeoutMs: callTimeoutMs });
  }

  async progress(run: RunKey, progress: unknown): Promise<{ readonly cancel_requested: boolean }> {
    checkResult(progress, "progress");
    const args = {
      p_job_id: run.id,
      p_worker_id: this.workerId,
      p_progress: toStorableJson(progress, "progress"),
      p_attempt: run.attempt,
    };
    return await this.transport.call("jobforge_progress_job", args, { timeoutMs: callTimeoutMs });
  }

  async holdKey(run: RunKey, until: string, reason: string | undefined): Promise<void> {
    const args = {
      p_job_id: run.id,
      p_worker_id: this.workerId,
      p_until: until,
      p_attempt: run.attempt,
      p_reason: reason,
    };
    await this.transport.call("jobforge_hold_key", args, { timeoutMs: callTimeoutMs });
  }

  async policy(type: string): Promise<TypePolicy> {
    return await this.transport.call("jobforge_get_policy", { p_type: type }, { timeoutMs: callTimeoutMs });
  }
}

/** The channel on which the database names jobs that are handed to an instance of a worker. */
function handChannelOf(workerId: string, instance: string): string {
  const hash = createHash("sha256").update(`${workerId}/${instance}`).digest("hex");
  return `jobforge_hand_${hash.slice(0, 32)}`;
}
