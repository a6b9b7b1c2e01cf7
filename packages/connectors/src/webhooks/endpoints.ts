/** Endpoints of webhooks: where their settings come from, and the keys that are derived for them. */
import {
  EndpointNotFoundError,
  type JobForgeClient,
  type WebhookEndpoint,
  type WebhookSignature,
} from "@jobforge/sdk-ts";
import { ConnectorError } from "../errors.ts";
import { deriveKey, receiverSecret, type SigningKey } from "./signing.ts";

/** What a delivery needs of an endpoint, as `forge.webhooks.get` returns it. */
export type DeliveryEndpoint = Pick<WebhookEndpoint, "url" | "keys"> &
  Partial<Pick<WebhookEndpoint, "format" | "signature" | "headers" | "retrySchedule" | "state">>;

/** Finds an endpoint of a tenant. Resolves with undefined if the tenant has no such endpoint. */
export type EndpointFinder = (tenantId: string, endpointId: string) => Promise<DeliveryEndpoint | undefined>;

/** Keys of 32 bytes, by their names. */
export type MasterKeys = Readonly<Record<string, Uint8Array>>;

export interface WebhookOptions {
  /** Default: `forge.webhooks.get`. */
  readonly endpoints?: EndpointFinder | undefined;
  /** Default: the variables JOBFORGE_WEBHOOK_MASTER_KEY (`default`) and JOBFORGE_WEBHOOK_MASTER_KEY_NAME (`NAME`). */
  readonly masterKeys?: MasterKeys | undefined;
}

const variable = "JOBFORGE_WEBHOOK_MASTER_KEY";

/** Reads a master key in base64 or hexadecimal. Throws if it is not 32 bytes. */
export function readMasterKey(text: string, name = variable): Buffer {
  const bytes = Buffer.from(text, /^[0-9a-f]{64}$/i.test(text) ? "hex" : "base64");
  if (bytes.length !== 32) throw new Error(`${name} must be 32 bytes in base64: openssl rand -base64 32`);
  return bytes;
}

/** The master keys of an environment. Several of them allow to replace one by another. */
export function masterKeysOf(env: Readonly<Record<string, string | undefined>>): MasterKeys {
  const keys: Record<string, Buffer> = {};
  for (const [name, text] of Object.entries(env)) {
    if (text === undefined || text === "") continue;
    if (name === variable) keys["default"] = readMasterKey(text);
    else if (name.startsWith(`${variable}_`))
      keys[name.slice(variable.length + 1)] = readMasterKey(text, name);
  }
  return keys;
}

/** The keys of an endpoint that sign now, the newest first. */
export function endpointKeys(
  masterKeys: MasterKeys,
  { tenantId, endpointId }: { readonly tenantId: string; readonly endpointId: string },
  { keys, signature }: Pick<DeliveryEndpoint, "keys" | "signature">,
): SigningKey[] {
  return keys.map(({ version, masterKey: name }) => {
    const masterKey = Object.hasOwn(masterKeys, name) ? masterKeys[name] : undefined;
    if (masterKey === undefined)
      throw new ConnectorError(
        "secret_unavailable",
        `This worker has no master key ${name} for the endpoint.`,
        {
          sent: false,
        },
      );
    const kind = signature === "ed25519" ? "ed25519" : "hmac";
    return deriveKey(masterKey, { tenantId, endpointId, version }, kind);
  });
}

/** An endpoint as the kernel and the REST API return it. */
interface EndpointRow {
  readonly id: string;
  readonly tenant_id: string;
  readonly signature: WebhookSignature;
  readonly keys: readonly {
    readonly version: number;
    readonly master_key: string;
    readonly until?: string | undefined;
  }[];
}

/** What the receiver of an endpoint verifies with. */
export interface ReceiverSecret {
  readonly version: number;
  readonly secret: string;
  readonly until?: string | undefined;
}

/** For the option `webhookSecrets` of a server. The newest key comes first; undefined if a master key is missing. */
export function webhookSecrets(
  masterKeys: MasterKeys,
): (endpoint: EndpointRow) => readonly ReceiverSecret[] | undefined {
  return ({ id, tenant_id: tenantId, signature, keys }) => {
    if (keys.some(({ master_key }) => !Object.hasOwn(masterKeys, master_key))) return undefined;
    const versions = keys.map(({ version, master_key: masterKey }) => ({
      version,
      masterKey,
      until: undefined,
    }));
    const derived = endpointKeys(masterKeys, { tenantId, endpointId: id }, { keys: versions, signature });
    return keys.map(({ version, until }, index) => {
      const key = derived[index];
      const secret = key === undefined ? "" : receiverSecret(key);
      return { version, secret, ...(until === undefined ? {} : { until }) };
    });
  };
}

/** Finds endpoints in the database. One that cannot be read is a failure that is retried. */
export function endpointsOf(forge: Pick<JobForgeClient, "webhooks">): EndpointFinder {
  return async (tenantId, id) => {
    try {
      return await forge.webhooks.get({ tenantId, id });
    } catch (error) {
      if (error instanceof EndpointNotFoundError) return undefined;
      throw new ConnectorError("config_unavailable", "The endpoint could not be read.", { sent: false });
    }
  };
}
