/** The keys that a delivery is signed with: secrets of the payload, or keys derived for an endpoint. */
import { ConnectorError } from "../errors.ts";
import { deriveKey, type SigningKey } from "./signing.ts";

/** An endpoint that deliveries name by its id. */
export interface WebhookEndpoint {
  readonly url: string;
  /** The version of its key. A rotation adds one. */
  readonly secretVersion: number;
  /** Older versions that still sign, the newest first; at most two. */
  readonly previousVersions?: readonly number[] | undefined;
  readonly signing?: "hmac" | "ed25519" | undefined;
  /** Which master key its keys are derived from. Default: `default`. */
  readonly masterKeyId?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly format?: "standard" | "cloudevents" | "raw" | undefined;
}

export interface WebhookOptions {
  /** Finds an endpoint of a tenant. Without it, deliveries name a URL. */
  endpoints?(tenantId: string, endpointId: string): Promise<WebhookEndpoint | undefined>;
  /** Master keys of 32 bytes, by id. Default: the variable JOBFORGE_WEBHOOK_MASTER_KEY, in base64 or hexadecimal. */
  readonly masterKeys?: Readonly<Record<string, Uint8Array>> | undefined;
}

/** Reads a master key. Throws if it is not 32 bytes. */
export function readMasterKey(text: string): Buffer {
  const bytes = Buffer.from(text, /^[0-9a-f]{64}$/i.test(text) ? "hex" : "base64");
  if (bytes.length !== 32)
    throw new Error("JOBFORGE_WEBHOOK_MASTER_KEY must be 32 bytes in base64: openssl rand -base64 32");
  return bytes;
}

export function masterKeysOf(
  { masterKeys }: WebhookOptions,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Readonly<Record<string, Uint8Array>> {
  const text = env["JOBFORGE_WEBHOOK_MASTER_KEY"];
  return masterKeys ?? (text === undefined || text === "" ? {} : { default: readMasterKey(text) });
}

/** The keys of an endpoint, the newest first. */
export function endpointKeys(
  masterKeys: Readonly<Record<string, Uint8Array>>,
  tenantId: string,
  endpointId: string,
  endpoint: WebhookEndpoint,
): SigningKey[] {
  const { secretVersion, previousVersions = [], signing, masterKeyId = "default" } = endpoint;
  const masterKey = Object.hasOwn(masterKeys, masterKeyId) ? masterKeys[masterKeyId] : undefined;
  if (masterKey === undefined)
    throw new ConnectorError("secret_unavailable", "This worker has no master key for the endpoint.", {
      sent: false,
    });
  return [secretVersion, ...previousVersions.slice(0, 2)].map((version) =>
    deriveKey(masterKey, { tenantId, endpointId, version }, signing),
  );
}
