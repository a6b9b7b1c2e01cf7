/**
 * Signatures of webhooks. Standard Webhooks: `v1` is an HMAC-SHA256 and `v1a` an ed25519 signature of the id, the time
 * and the exact bytes of the body. The older form signs the body alone.
 */
import { createHmac, createPrivateKey, createPublicKey, hkdfSync, sign } from "node:crypto";

/** A key for signatures of Standard Webhooks. */
export type SigningKey =
  | { readonly kind: "hmac"; readonly bytes: Buffer }
  | { readonly kind: "ed25519"; readonly seed: Buffer };

const minKeyBytes = 24;
const maxKeyBytes = 64;

/** Reads a secret in the form `whsec_…` or `whsk_…`. Returns undefined if it has another form. */
export function readSigningKey(secret: string): SigningKey | undefined {
  const [, prefix, text = ""] = /^(whsec|whsk)_([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? [];
  const bytes = Buffer.from(text, "base64");
  if (prefix === "whsk") return bytes.length === 32 || bytes.length === 64 ? ed25519(bytes) : undefined;
  const isUsable = bytes.length >= minKeyBytes && bytes.length <= maxKeyBytes;
  return prefix === "whsec" && isUsable ? { kind: "hmac", bytes } : undefined;
}

/** A private key has 32 bytes, which the public key may follow. */
function ed25519(bytes: Buffer): SigningKey {
  return { kind: "ed25519", seed: bytes.subarray(0, 32) };
}

/** One signature for each key, in order: `v1,… v1,…`. Receivers accept any of them, so the newest key comes first. */
export function standardSignature(
  keys: readonly SigningKey[],
  id: string,
  timestamp: number,
  body: Buffer,
): string {
  const signed = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  return keys.map((key) => signatureOf(key, signed)).join(" ");
}

function signatureOf(key: SigningKey, signed: Buffer): string {
  if (key.kind === "hmac") return `v1,${createHmac("sha256", key.bytes).update(signed).digest("base64")}`;
  return `v1a,${sign(null, signed, privateKey(key.seed)).toString("base64")}`;
}

/** The older signature: the hexadecimal HMAC of the body, under the text of the secret. */
export function legacySignature(algorithm: "sha256" | "sha512", secret: string, body: Buffer): string {
  return `${algorithm}=${hexHmac(algorithm, secret, body)}`;
}

export function hexHmac(algorithm: "sha256" | "sha512", secret: string, body: Buffer | string): string {
  return createHmac(algorithm, secret).update(body).digest("hex");
}

/** What the key of an endpoint is derived from. */
export interface EndpointKey {
  readonly tenantId: string;
  readonly endpointId: string;
  readonly version: number;
}

/**
 * Derives the key of an endpoint from a master key, so that no secret is stored in the database. A rotation is a higher
 * version.
 */
export function deriveKey(
  masterKey: Uint8Array,
  { tenantId, endpointId, version }: EndpointKey,
  kind: "hmac" | "ed25519" = "hmac",
): SigningKey {
  const info = `jobforge/webhook/${kind}/${tenantId}/${endpointId}/${version}`;
  const bytes = Buffer.from(hkdfSync("sha256", masterKey, Buffer.alloc(0), info, 32));
  return kind === "hmac" ? { kind, bytes } : { kind, seed: bytes };
}

/** What the receiver verifies with: `whsec_…`, or the public key `whpk_…`. */
export function receiverSecret(key: SigningKey): string {
  if (key.kind === "hmac") return `whsec_${key.bytes.toString("base64")}`;
  const { x = "" } = createPublicKey(privateKey(key.seed)).export({ format: "jwk" });
  return `whpk_${Buffer.from(x, "base64url").toString("base64")}`;
}

/** The beginning of a PKCS #8 document of a private key, which Node needs around the 32 bytes. */
const pkcs8 = Buffer.from("302e020100300506032b657004220420", "hex");

function privateKey(seed: Buffer): ReturnType<typeof createPrivateKey> {
  return createPrivateKey({ key: Buffer.concat([pkcs8, seed]), format: "der", type: "pkcs8" });
}
