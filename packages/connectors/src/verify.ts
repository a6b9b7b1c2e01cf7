/**
 * The entry `@jobforge/connectors/verify`, for receivers of webhooks. It uses only what browsers, edge runtimes and
 * Node have in common, and has no dependencies.
 */

export type WebhookErrorCode =
  | "missing_header"
  | "invalid_id"
  | "invalid_timestamp"
  | "too_old"
  | "too_new"
  | "invalid_secret"
  | "no_match"
  | "invalid_body";

/** The request is not an authentic webhook. Respond with status 401, or 400 for `invalid_body`. */
export class WebhookVerificationError extends Error {
  override readonly name: string = "WebhookVerificationError";
  readonly code: WebhookErrorCode;
  constructor(code: WebhookErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** The headers of a request: of the Fetch API, of Node, or a plain object. Names may have any case. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyOptions {
  /** The body exactly as it arrived. A body that was parsed and written again has another signature. */
  readonly body: string | Uint8Array;
  readonly headers: WebhookHeaders;
  /** `whsec_…` or `whpk_…`. While a secret is rotated, the old and the new one. */
  readonly secret: string | readonly string[];
  /** How far the time of the webhook may be from now, in seconds. Default 300. */
  readonly toleranceSeconds?: number | undefined;
  /** The time now. Default: the clock. */
  readonly now?: Date | undefined;
}

export interface VerifiedWebhook<Event = unknown> {
  /** The same in every attempt. Remember it, and ignore a webhook that you have handled. */
  readonly id: string;
  /** When this attempt was sent. */
  readonly timestamp: Date;
  /** The parsed body. */
  readonly event: Event;
}

/** More signatures than this are not looked at. */
const maxSignatures = 16;
const defaultTolerance = 300;

/** Checks a webhook of Standard Webhooks and returns its content. Throws a WebhookVerificationError. */
export async function verifyWebhook<Event = unknown>(
  options: VerifyOptions,
): Promise<VerifiedWebhook<Event>> {
  const id = header(options.headers, "webhook-id");
  const time = header(options.headers, "webhook-timestamp");
  const given = header(options.headers, "webhook-signature");
  // The signed text is separated by full stops.
  if (!/^[^.\s]{1,256}$/.test(id)) throw fail("invalid_id", "The header webhook-id is invalid.");
  if (!/^\d{1,12}$/.test(time)) throw fail("invalid_timestamp", "The header webhook-timestamp is invalid.");
  checkTime(Number(time) * 1000, options);
  const body = bytesOf(options.body);
  const signed = joined(new TextEncoder().encode(`${id}.${time}.`), body);
  const secrets = typeof options.secret === "string" ? [options.secret] : options.secret;
  const keys = await Promise.all(secrets.map(readKey));
  const signatures = given.split(" ").slice(0, maxSignatures).flatMap(readSignature);
  if (!(await matchesAny(keys, signatures, signed)))
    throw fail("no_match", "No signature matches: the secret is another one, or the body was changed.");
  return { id, timestamp: new Date(Number(time) * 1000), event: parse<Event>(body) };
}

export interface LegacyOptions extends Omit<VerifyOptions, "secret"> {
  /** The text of the secret. */
  readonly secret: string | readonly string[];
}

/**
 * Checks a webhook in the older form, whose header is `x-jobforge-signature`. The time in the headers is not signed, so
 * the one in the body counts.
 */
export async function verifyLegacyWebhook<Event = unknown>(
  options: LegacyOptions,
): Promise<VerifiedWebhook<Event>> {
  const given = header(options.headers, "x-jobforge-signature");
  const [, algorithm = "", hex = ""] = /^(sha256|sha512)=([0-9a-f]{64}(?:[0-9a-f]{64})?)$/.exec(given) ?? [];
  const body = bytesOf(options.body);
  const secrets = typeof options.secret === "string" ? [options.secret] : options.secret;
  const signature = Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  const hash = algorithm === "sha512" ? "SHA-512" : "SHA-256";
  const keys = await Promise.all(
    secrets.map(async (secret) => {
      if (secret === "") throw fail("invalid_secret", "The secret is empty.");
      return await hmacKey(new TextEncoder().encode(secret), hash);
    }),
  );
  const matches = await Promise.all(keys.map((key) => crypto.subtle.verify("HMAC", key, signature, body)));
  if (!matches.includes(true)) throw fail("no_match", "The signature does not match.");
  const event = parse<Event>(body);
  const { event_id: id, timestamp } = (event ?? {}) as {
    readonly event_id?: unknown;
    readonly timestamp?: unknown;
  };
  const time = typeof timestamp === "string" ? Date.parse(timestamp) : Number.NaN;
  if (typeof id !== "string" || Number.isNaN(time))
    throw fail("invalid_body", "The body has no event_id or no timestamp.");
  checkTime(time, options);
  return { id, timestamp: new Date(time), event };
}

type CryptoKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

interface Signature {
  readonly version: "v1" | "v1a";
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Every signature is compared with every key of its kind. The platform compares in constant time. */
async function matchesAny(
  keys: readonly CryptoKey[],
  signatures: readonly Signature[],
  signed: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const checks = keys.flatMap((key) =>
    signatures
      .filter(({ version }) => (version === "v1") === (key.algorithm.name === "HMAC"))
      .map(({ bytes }) => crypto.subtle.verify(key.algorithm.name, key, bytes, signed)),
  );
  return (await Promise.all(checks)).includes(true);
}

/** Unknown versions are skipped, so that a sender can add new ones. */
function readSignature(text: string): Signature[] {
  const [, version, encoded = ""] = /^(v1|v1a),([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? [];
  const bytes = decode(encoded);
  return bytes === undefined || version === undefined ? [] : [{ version: version as "v1" | "v1a", bytes }];
}

async function readKey(secret: string): Promise<CryptoKey> {
  const [, prefix, encoded = ""] = /^(?:(whsec|whpk)_)?([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? [];
  const bytes = decode(encoded);
  const isUsable = prefix === "whpk" ? bytes?.length === 32 : isKeyLength(bytes?.length ?? 0);
  if (bytes === undefined || !isUsable)
    throw fail("invalid_secret", "A secret has the form whsec_… or whpk_…, in base64.");
  if (prefix === "whpk") return await crypto.subtle.importKey("raw", bytes, "Ed25519", false, ["verify"]);
  return await hmacKey(bytes, "SHA-256");
}

function isKeyLength(length: number): boolean {
  return length >= 24 && length <= 64;
}

async function hmacKey(bytes: Uint8Array<ArrayBuffer>, hash: "SHA-256" | "SHA-512"): Promise<CryptoKey> {
  return await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash }, false, ["verify"]);
}

function header(headers: WebhookHeaders, name: string): string {
  const found = isFetchHeaders(headers)
    ? headers.get(name)
    : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  if (typeof found !== "string" || found === "")
    throw fail("missing_header", `The header ${name} is missing.`);
  return found;
}

function isFetchHeaders(headers: WebhookHeaders): headers is { get(name: string): string | null } {
  return typeof headers["get"] === "function";
}

function checkTime(
  ms: number,
  { toleranceSeconds = defaultTolerance, now = new Date() }: LegacyOptions,
): void {
  const seconds = (now.getTime() - ms) / 1000;
  if (seconds > toleranceSeconds) throw fail("too_old", "The webhook is too old.");
  if (seconds < -toleranceSeconds) throw fail("too_new", "The time of the webhook is in the future.");
}

function parse<Event>(body: Uint8Array): Event {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    throw fail("invalid_body", "The body is not JSON.");
  }
}

function bytesOf(body: string | Uint8Array): Uint8Array<ArrayBuffer> {
  return typeof body === "string" ? new TextEncoder().encode(body) : new Uint8Array(body);
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}

function decode(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return base64 === "" ? undefined : Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function fail(code: WebhookErrorCode, message: string): WebhookVerificationError {
  return new WebhookVerificationError(code, message);
}
