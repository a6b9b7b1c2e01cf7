/** Endpoints of webhooks: who is notified of the ends of a tenant's jobs, and of events of the application. */
import { checkTenant } from "../arguments/names.ts";
import { checkDate, checkRange, checkText, checkUuid, refuse, requireObject } from "../arguments/values.ts";
import type {
  EndpointOptions,
  EndpointReference,
  NewEndpointOptions,
  WebhookEndpoint,
  WebhookEvent,
} from "../define/webhook.ts";
import type { Job, JobFilters } from "../jobs/job.ts";
import { checkedPageSize, filterKeys, type List, listRows, type PageOptions } from "../jobs/list.ts";
import { JsonText, toStorableJson } from "../json.ts";
import { knownOptions } from "../option-names.ts";
import { fromRow, fromRows, toKeys } from "../rows.ts";
import type { CallArguments, Transport } from "../transport/transport.ts";
import { bounds } from "../words.ts";

/** Selects deliveries of an endpoint. Their tag is the type of their event. */
export type DeliveryFilters = Omit<JobFilters, "type" | "subject">;

export interface DeliveryListOptions extends DeliveryFilters, PageOptions {}

export interface ReplayOptions extends DeliveryFilters {
  /** The most deliveries to replay, 1 to 10,000. Default 1000. */
  readonly limit?: number | undefined;
}

export interface RotateOptions {
  /** How long the key before signs as well, up to 30 days. Default: 24 hours. */
  readonly keepMs?: number | undefined;
  /** The name of the master key of the new key. Default: as before. */
  readonly masterKey?: string | undefined;
}

/** The job of a delivery. Its result and its error say how the receiver responded. */
export type WebhookDelivery = Job;

/**
 * For the tenant's server and operators; workers may `get` and `send`. Calls that name an endpoint reject with an
 * EndpointNotFoundError if the tenant does not have it.
 */
export class Webhooks {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates an endpoint. It gets the events of jobs that end from now on. */
  async create(tenantId: string, options: NewEndpointOptions): Promise<WebhookEndpoint> {
    checkTenant(tenantId);
    const p_endpoint = toKeys(knownOptions(options, "newEndpoint"));
    return await this.#endpoint("jobforge_set_webhook_endpoint", { p_tenant_id: tenantId, p_endpoint });
  }

  /** Changes the given settings of an endpoint; null sets one to its default. */
  async update(reference: EndpointReference, changes: EndpointOptions): Promise<WebhookEndpoint> {
    const p_endpoint = toKeys(knownOptions(changes, "updateEndpoint", "changes"));
    return await this.#endpoint("jobforge_set_webhook_endpoint", {
      ...referenceArguments(reference),
      p_endpoint,
    });
  }

  async get(reference: EndpointReference): Promise<WebhookEndpoint> {
    return await this.#endpoint("jobforge_get_webhook_endpoint", referenceArguments(reference));
  }

  /** The endpoints of a tenant, the oldest first. There are at most 50. */
  async list(tenantId: string): Promise<WebhookEndpoint[]> {
    checkTenant(tenantId);
    const args = { p_tenant_id: tenantId };
    const rows = await this.#transport.call<EndpointRow[]>("jobforge_list_webhook_endpoints", args);
    return rows.map(endpointOf);
  }

  /** The deliveries that wait for the endpoint go out, also those that its circuit breaker held back. */
  async enable(reference: EndpointReference): Promise<WebhookEndpoint> {
    return await this.#endpoint("jobforge_enable_webhook_endpoint", referenceArguments(reference));
  }

  /** Deliveries wait in the queue, also new ones, until the endpoint is enabled or they expire after seven days. */
  async disable(
    reference: EndpointReference,
    options: { readonly reason?: string | undefined } = {},
  ): Promise<WebhookEndpoint> {
    const { reason } = knownOptions(options, "disableEndpoint");
    if (reason !== undefined) checkText(reason, "reason");
    const args = { ...referenceArguments(reference), p_reason: reason };
    return await this.#endpoint("jobforge_disable_webhook_endpoint", args);
  }

  /** Gives the endpoint a new signing key. The one before signs as well for a while, so that receivers can follow. */
  async rotate(reference: EndpointReference, options: RotateOptions = {}): Promise<WebhookEndpoint> {
    const { keepMs, masterKey } = knownOptions(options, "rotateEndpoint");
    if (keepMs !== undefined && !(Number.isFinite(keepMs) && keepMs >= 0))
      refuse("keepMs", "must be a number of milliseconds, 0 or more", "For 2 days, pass 2 * 86_400_000.");
    return await this.#endpoint("jobforge_rotate_webhook_endpoint", {
      ...referenceArguments(reference),
      p_keep: keepMs === undefined ? undefined : `${Math.round(keepMs)} milliseconds`,
      p_master_key: masterKey,
    });
  }

  /** Deletes the endpoint and cancels its deliveries that are queued. */
  async delete(reference: EndpointReference): Promise<{ readonly canceled: number }> {
    const { canceled } = await this.#transport.call<{ readonly canceled: number }>(
      "jobforge_delete_webhook_endpoint",
      referenceArguments(reference),
    );
    return { canceled };
  }

  /** Sends the event `webhook.test`, on the same way as every other delivery. `jobId` is the delivery. */
  async test(reference: EndpointReference): Promise<{ readonly id: string; readonly jobId: string }> {
    const args = referenceArguments(reference);
    return fromRow(await this.#transport.call<object>("jobforge_test_webhook_endpoint", args));
  }

  /**
   * Sends an event of the application to the tenant's endpoints that want it. In a transaction, it is sent if the
   * transaction commits. `deliveries` are the ids of the jobs that deliver it.
   */
  async send(
    tenantId: string,
    event: WebhookEvent,
  ): Promise<{ readonly id: string; readonly deliveries: readonly string[] }> {
    checkTenant(tenantId);
    const { data, timestamp, ...rest } = knownOptions(event, "event");
    if (timestamp !== undefined) checkDate(timestamp, "timestamp");
    const facts = JSON.stringify({ ...rest, timestamp });
    const stored = data === undefined ? "" : `,"data":${toStorableJson(data, "data").text}`;
    const p_event = new JsonText(`${facts.slice(0, -1)}${stored}}`);
    return await this.#transport.call("jobforge_send_event", { p_tenant_id: tenantId, p_event });
  }

  /** The deliveries of an endpoint, newest first, also of one that was deleted. */
  deliveries(reference: EndpointReference, options: DeliveryListOptions = {}): List<WebhookDelivery> {
    const { pageSize: _, ...filters } = knownOptions(options, "deliveries");
    const args = referenceArguments(reference);
    const keys = filterKeys(filters);
    return listRows(checkedPageSize(options), (page) =>
      this.#transport.call("jobforge_list_webhook_deliveries", { ...args, p_filters: { ...keys, ...page } }),
    );
  }

  /**
   * Delivers again what the filters select; by default what failed or is dead. Receivers get the same `webhook-id`, so
   * that they can recognize what they have seen.
   */
  async replay(
    reference: EndpointReference,
    options: ReplayOptions = {},
  ): Promise<{ readonly matched: number; readonly replayed: number }> {
    const { limit, ...filters } = knownOptions(options, "replay");
    if (limit !== undefined) checkRange(limit, "limit", bounds.bulkLimit);
    return await this.#transport.call("jobforge_replay_webhook_deliveries", {
      ...referenceArguments(reference),
      p_filters: filterKeys(filters),
      p_limit: limit,
    });
  }

  async #endpoint(name: string, args: CallArguments): Promise<WebhookEndpoint> {
    return endpointOf(await this.#transport.call<EndpointRow>(name, args));
  }
}

interface EndpointRow {
  readonly keys: readonly object[];
}

function endpointOf(row: EndpointRow): WebhookEndpoint {
  return { ...fromRow<WebhookEndpoint>(row), keys: fromRows(row.keys) };
}

function referenceArguments(reference: EndpointReference): CallArguments {
  const { tenantId, id } = requireObject(reference, "endpoint", "Pass { tenantId, id }.");
  checkTenant(tenantId);
  checkUuid(id, "id", "Pass the id of an endpoint, which is `id` of what create() returns.");
  return { p_tenant_id: tenantId, p_endpoint_id: id };
}
