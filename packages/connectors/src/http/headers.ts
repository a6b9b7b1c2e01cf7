/** Builds the headers, the query and the authorization of a request, and looks up the secrets in them. */
import { checkHeader, checkHeaders } from "../egress/headers.ts";
import { ConnectorError } from "../errors.ts";
import type { SecretReference } from "../secrets/provider.ts";
import type { Scrubber } from "../secrets/scrub.ts";
import type { Secrets, SecretUse } from "../secrets/secrets.ts";

export type Value = string | SecretReference;

/** Resolves references for one request, and has the scrubber remove what it resolved. */
export class Values {
  readonly #secrets: Secrets;
  readonly #scrubber: Scrubber;
  readonly #use: SecretUse;

  constructor(secrets: Secrets, scrubber: Scrubber, use: SecretUse) {
    this.#secrets = secrets;
    this.#scrubber = scrubber;
    this.#use = use;
  }

  async text(value: Value, urls: readonly URL[] = this.#use.urls): Promise<string> {
    if (typeof value === "string") return value;
    const secret = await this.#secrets.resolve(value, { ...this.#use, urls });
    this.#scrubber.add(secret);
    return secret;
  }
}

/** Headers under construction. Names are in lower case; a later value replaces an earlier one. */
export class RequestHeaders {
  readonly all: Record<string, string> = {};
  /** The names of headers with secrets. */
  readonly secret = new Set<string>();

  /** Sets a header of JobForge's own. */
  set(name: string, value: string, isSecret = false): void {
    this.all[name] = value;
    if (isSecret) this.secret.add(name);
    else this.secret.delete(name);
  }

  /** Sets the headers of a payload or configuration. */
  async add(headers: Readonly<Record<string, Value>>, values: Values): Promise<void> {
    for (const [name, value] of Object.entries(headers)) {
      const text = await values.text(value);
      checkHeader(name, text);
      this.set(name.toLowerCase(), text, typeof value !== "string");
    }
  }

  check(): void {
    checkHeaders(this.all);
  }
}

/** Adds the query of a payload to its URL. Secrets are in the result, so it must not be stored. */
export async function withQuery(
  url: URL,
  query: Readonly<Record<string, Value | number | boolean>>,
  values: Values,
): Promise<URL> {
  const whole = new URL(url);
  for (const [name, value] of Object.entries(query)) {
    const text = typeof value === "object" ? await values.text(value) : String(value);
    whole.searchParams.append(name, text);
  }
  if (whole.href.length > 16_384)
    throw new ConnectorError("invalid_url", "The URL is too long with its query.");
  return whole;
}
