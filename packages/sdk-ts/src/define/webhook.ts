/** Webhooks: endpoints of tenants, events, and whom one job notifies. */
import type { NotifyStatus, WebhookFormat, WebhookPart, WebhookSignature, WebhookState } from "../words.ts";

/** The name of a secret that the workers have. It is never stored in the database. */
export interface SecretName {
  readonly $secret: string;
}

/** An endpoint is named by its tenant and its id. */
export interface EndpointReference {
  readonly tenantId: string;
  readonly id: string;
}

/** The settings of an endpoint. In a change, null sets one to its default. */
export interface EndpointOptions {
  readonly url?: string | undefined;
  readonly description?: string | null | undefined;
  /** Types of events, such as `job.dead`, `job.*`, `invoice.*`. Default: the four ends of a job. */
  readonly events?: readonly string[] | null | undefined;
  /** If there are any, only events of jobs of these types; `mail.*` is a beginning. */
  readonly jobTypes?: readonly string[] | null | undefined;
  /** Only events of jobs that have all of these tags. */
  readonly tags?: readonly string[] | null | undefined;
  /** What events of jobs contain in addition, if it is small enough. */
  readonly include?: readonly WebhookPart[] | null | undefined;
  readonly format?: WebhookFormat | null | undefined;
  /** `both` adds the header of older versions. `ed25519`: the receiver verifies with a public key. */
  readonly signature?: WebhookSignature | null | undefined;
  readonly headers?: Readonly<Record<string, string | SecretName>> | null | undefined;
  /** One delivery at a time, in the order of the events. A delivery that is retried holds up the others. */
  readonly ordered?: boolean | null | undefined;
  /** The waits after each failure in seconds; the last one repeats. Default: those of the type's policy. */
  readonly retrySchedule?: readonly number[] | null | undefined;
}

export interface NewEndpointOptions extends EndpointOptions {
  readonly url: string;
  /** The name of the master key that its keys are derived from. Default: `default`. */
  readonly masterKey?: string | undefined;
}

/** A version of an endpoint's signing key. The key itself is derived where the master key is. */
export interface EndpointKeyVersion {
  readonly version: number;
  readonly masterKey: string;
  /** When an older version stops signing; undefined for the newest. */
  readonly until: Date | undefined;
}

export interface WebhookEndpoint {
  readonly id: string;
  readonly tenantId: string;
  readonly url: string;
  readonly description: string | undefined;
  readonly events: readonly string[];
  readonly jobTypes: readonly string[];
  readonly tags: readonly string[];
  readonly include: readonly WebhookPart[];
  readonly format: WebhookFormat;
  readonly signature: WebhookSignature;
  readonly headers: Readonly<Record<string, string | SecretName>>;
  readonly ordered: boolean;
  readonly retrySchedule: readonly number[] | undefined;
  /** The versions of its signing key that sign now, the newest first. */
  readonly keys: readonly EndpointKeyVersion[];
  readonly state: WebhookState;
  /** Why it is disabled. */
  readonly reason: string | undefined;
  readonly disabledAt: Date | undefined;
  /** Since when every delivery fails; undefined if the last one succeeded. */
  readonly failingSince: Date | undefined;
  /** Until when deliveries are held back; undefined if they are not. */
  readonly heldUntil: Date | undefined;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** An event of the application. */
export interface WebhookEvent {
  /** Such as `invoice.paid`. Types that begin with `job.`, `schedule.` or `webhook.` are JobForge's own. */
  readonly type: string;
  readonly data?: unknown;
  /** Default: a new one. Receivers ignore an id that they have seen. */
  readonly id?: string | undefined;
  /** Default: now. */
  readonly timestamp?: Date | undefined;
}

/** Whom a webhook tells about the end of one job: a URL, or one of the tenant's endpoints. */
export interface NotifyOptions {
  readonly url?: string | undefined;
  /** The secret that signs deliveries to the URL. */
  readonly secret?: SecretName | undefined;
  readonly endpointId?: string | undefined;
  /** The statuses to tell about. Default: all four. */
  readonly on?: readonly NotifyStatus[] | undefined;
}
