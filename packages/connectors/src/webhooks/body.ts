/** The body of a webhook in each format. It is written once: these bytes are signed and sent. */
import type { WebhookDelivery } from "./definition.ts";

export interface EventFacts {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly data: unknown;
  readonly tenantId: string;
  /** The time of this attempt, which the older format has in its body. */
  readonly sentAt: string;
}

export interface WebhookBody {
  readonly bytes: Buffer;
  readonly contentType: string;
}

export function webhookBody(format: WebhookDelivery["format"], event: EventFacts): WebhookBody {
  const { id, type, timestamp, data, tenantId, sentAt } = event;
  switch (format) {
    case "standard":
      return json({ type, timestamp, data });
    case "cloudevents":
      return json(
        {
          specversion: "1.0",
          id,
          source: `jobforge/${tenantId}`,
          ...cloudEvent(type, data),
          time: timestamp,
          datacontenttype: "application/json",
          data,
        },
        "application/cloudevents+json",
      );
    case "legacy":
      return json({ event_type: type, event_id: id, timestamp: sentAt, data });
    case "raw":
      return json(data);
  }
}

/** JobForge's own types get a prefix, so that they are unique, and events of a job name it. */
function cloudEvent(type: string, data: unknown): { readonly type: string; readonly subject?: string } {
  if (!/^(?:job|schedule|webhook)\./.test(type)) return { type };
  const id = typeof data === "object" && data !== null && "id" in data ? data.id : undefined;
  const subject = type.startsWith("job.") && typeof id === "string" ? { subject: id } : {};
  return { type: `dev.jobforge.${type}`, ...subject };
}

function json(value: unknown, contentType = "application/json"): WebhookBody {
  return { bytes: Buffer.from(JSON.stringify(value)), contentType };
}
