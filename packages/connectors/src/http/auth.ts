/** The `auth` of a payload: a bearer token, a user with a password, or OAuth 2 client credentials. */
import { createHash } from "node:crypto";
import { z } from "zod";
import { readBody } from "../egress/body.ts";
import { type OutboundRequest, send } from "../egress/exchange.ts";
import { checkUrl } from "../egress/url.ts";
import { ConnectorError } from "../errors.ts";
import type { Scrubber } from "../secrets/scrub.ts";
import type { Surroundings } from "../surroundings.ts";
import type { auth } from "./definition.ts";
import type { Values } from "./headers.ts";

type Auth = z.output<typeof auth>;
type OAuth2 = Extract<Auth, { oauth2: unknown }>["oauth2"];

const tokenDocument = z.object({
  access_token: z.string().regex(/^[\x21-\x7e]+$/),
  expires_in: z.coerce.number().positive().optional().catch(undefined),
});
const maxTokenBytes = 65_536;
/** A token is renewed this long before it expires. */
const marginMs = 60_000;
const maxCached = 10_000;

/** What a token request has in common with the request that it is for. */
export type Common = Pick<
  OutboundRequest,
  "tenantId" | "rules" | "waits" | "timeoutMs" | "deadline" | "signal"
>;

interface Issued {
  readonly token: string;
  readonly until: number;
  /** Whether a request after the first one has used it. */
  isReused: boolean;
}

export class Authorization {
  readonly #around: Pick<Surroundings, "agents">;
  readonly #tokens = new Map<string, Issued>();

  constructor(around: Pick<Surroundings, "agents">) {
    this.#around = around;
  }

  /** Resolves to the value of the header `authorization`. */
  async header(
    given: Auth,
    target: URL,
    common: Common,
    values: Values,
    scrubber: Scrubber,
  ): Promise<string> {
    if ("bearer" in given) return `Bearer ${checked(await values.text(given.bearer))}`;
    if ("basic" in given) {
      const pair = `${await values.text(given.basic.user)}:${await values.text(given.basic.password)}`;
      scrubber.add(pair);
      return `Basic ${Buffer.from(pair).toString("base64")}`;
    }
    const token = await this.#token(given.oauth2, target, common, values, scrubber);
    scrubber.add(token);
    return `Bearer ${token}`;
  }

  /**
   * Drops the token of a header that a server has refused. Returns whether a new one may help: one that was issued for
   * this request is refused for another reason.
   */
  forget(header: string | undefined): boolean {
    const found = [...this.#tokens].find(([, { token }]) => header === `Bearer ${token}`);
    if (found !== undefined) this.#tokens.delete(found[0]);
    // Another request has dropped it already, so it was reused.
    return found === undefined || found[1].isReused;
  }

  /** The token is sent to the target, so the secret must be bound to its host as well as to that of the token URL. */
  async #token(
    given: OAuth2,
    target: URL,
    common: Common,
    values: Values,
    scrubber: Scrubber,
  ): Promise<string> {
    const rules = { ...common.rules, httpsOnly: target.protocol === "https:" };
    const url = checkUrl(given.token_url, rules);
    const id = await values.text(given.client_id, [url, target]);
    const secret = await values.text(given.client_secret, [url, target]);
    const key = createHash("sha256")
      .update(
        JSON.stringify([common.tenantId, common.rules.policy.version, url.href, id, secret, given.scope]),
      )
      .digest("base64");
    const cached = this.#tokens.get(key);
    if (cached !== undefined && cached.until > performance.now()) {
      cached.isReused = true;
      return cached.token;
    }
    const { access_token, expires_in = 0 } = await this.#fetch(
      url,
      given.scope,
      { id, secret },
      common,
      scrubber,
    );
    if (this.#tokens.size >= maxCached) this.#tokens.clear();
    const until = performance.now() + expires_in * 1000 - marginMs;
    this.#tokens.set(key, { token: access_token, until, isReused: false });
    return access_token;
  }

  async #fetch(
    url: URL,
    scope: string | undefined,
    { id, secret }: { readonly id: string; readonly secret: string },
    common: Common,
    scrubber: Scrubber,
  ): Promise<z.output<typeof tokenDocument>> {
    const form = new URLSearchParams({ grant_type: "client_credentials", ...(scope ? { scope } : {}) });
    const pair = `${encodeURIComponent(id)}:${encodeURIComponent(secret)}`;
    scrubber.add(pair);
    const exchange = await send(this.#around.agents, {
      ...common,
      url: url.href,
      method: "POST",
      headers: {
        accept: "application/json",
        authorization: `Basic ${Buffer.from(pair).toString("base64")}`,
        "content-type": "application/x-www-form-urlencoded",
      },
      body: async () => Buffer.from(form.toString()),
      redirects: 0,
    });
    const { bytes } = await readBody(exchange.body, maxTokenBytes).catch((error: unknown) => {
      throw exchange.failure(error);
    });
    const document = exchange.status === 200 ? tokenDocument.safeParse(parsed(bytes)).data : undefined;
    if (document !== undefined) return document;
    throw new ConnectorError(
      "secret_unavailable",
      `${url.host} issued no token (status ${exchange.status}).`,
      {
        status: exchange.status,
        sent: false,
      },
    );
  }
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}

/** A token with other characters could end the header. */
function checked(token: string): string {
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new ConnectorError("invalid_header", "The bearer token must be visible ASCII.");
  return token;
}
