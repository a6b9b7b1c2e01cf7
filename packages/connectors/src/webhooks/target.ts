/** Where a delivery goes, and with which keys it is signed: the URL of a payload, or an endpoint. */
import { ConnectorError } from "../errors.ts";
import type { Value, Values } from "../http/headers.ts";
import type { WebhookDelivery } from "./definition.ts";
import { endpointKeys, type MasterKeys, type WebhookOptions } from "./endpoints.ts";
import { readSigningKey, receiverSecret, type SigningKey } from "./signing.ts";

export interface SigningKeys {
  readonly keys: readonly SigningKey[];
  /** The secrets of the older form of signatures, which is an HMAC under a text. */
  readonly texts: readonly string[];
}

export interface Target {
  readonly url: string;
  readonly format: WebhookDelivery["format"];
  readonly signature: WebhookDelivery["signature"];
  readonly headers: Readonly<Record<string, Value>>;
  /** The waits of the endpoint in seconds; undefined: those of the configuration. */
  readonly schedule?: readonly number[] | undefined;
  /** The endpoint is disabled, so its deliveries wait. */
  readonly isDisabled: boolean;
  keys(values: Values): Promise<SigningKeys>;
}

export async function targetOf(
  { url = "", endpoint_id: endpointId, format, signature, secrets }: WebhookDelivery,
  tenantId: string,
  { endpoints }: WebhookOptions,
  masterKeys: MasterKeys,
): Promise<Target> {
  if (endpointId === undefined)
    return {
      ...{ url, format, signature, headers: {}, isDisabled: false },
      keys: (values) => secretKeys(secrets, format, values),
    };
  const endpoint = await endpoints?.(tenantId, endpointId);
  if (endpoint === undefined)
    throw new ConnectorError("endpoint_unknown", "The tenant has no such endpoint.", { sent: false });
  return {
    url: endpoint.url,
    format: endpoint.format ?? format,
    signature: endpoint.signature === "both" ? "both" : signature,
    headers: endpoint.headers ?? {},
    schedule: endpoint.retrySchedule,
    isDisabled: endpoint.state === "disabled",
    keys: async () => {
      const keys = endpointKeys(masterKeys, { tenantId, endpointId }, endpoint);
      // The text of an ed25519 key is public, so it signs nothing.
      return { keys, texts: keys.filter(({ kind }) => kind === "hmac").map(receiverSecret) };
    },
  };
}

/** Looks up the secrets of a payload. One that has not the form of Standard Webhooks can sign only the older format. */
async function secretKeys(
  secrets: WebhookDelivery["secrets"],
  format: WebhookDelivery["format"],
  values: Values,
): Promise<SigningKeys> {
  const texts = await Promise.all(secrets.map((secret) => values.text(secret)));
  if (format === "legacy") return { keys: [], texts };
  const keys = texts.map((text) => {
    const key = readSigningKey(text);
    if (key === undefined)
      throw new ConnectorError(
        "secret_unavailable",
        "The secret of a webhook must have the form whsec_… with 24 to 64 bytes in base64, or whsk_….",
        { sent: false },
      );
    return key;
  });
  return { keys, texts };
}
