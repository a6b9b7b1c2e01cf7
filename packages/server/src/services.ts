/** The services that all routes share: the database, the catalog, streams, authentication and rate limits. */
import type { Context } from "hono";
import { type Authenticate, authenticator, digestOf, isKey, tokenOf } from "./auth.ts";
import { type ApiSession, apiSession } from "./calls.ts";
import { Catalog } from "./catalog.ts";
import { type Credential, Database, unauthorized } from "./database.ts";
import { isToken } from "./local-token.ts";
import type { LocalToken, Settings } from "./options.ts";
import { RateLimiter } from "./rate-limit.ts";
import { StreamHub } from "./stream/hub.ts";

export interface Environment {
  Variables: {
    /** The W3C trace header of the request, or a new one if the request has none. */
    traceparent: string;
    /** For the access log. Unset until the caller is known. */
    role: string;
    tenantId: string;
    /** How the caller proved who it is. Set when the request is admitted. */
    credential: Credential | undefined;
  };
  /** Passed by the Node adapter. Empty if the server is mounted in another application. */
  Bindings: { incoming?: { socket?: { remoteAddress?: string } } };
}

type RequestContext = Context<Environment>;

/** How many valid keys are remembered. A remembered key does not count as a guess. */
const maxKnownKeys = 10_000;
/** Streams may use this share of the connections. */
const streamShare = 1 / 4;

export class Services {
  readonly settings: Settings;
  readonly database: Database;
  readonly catalog: Catalog;
  readonly streams: StreamHub;
  /** Aborted when the server closes. */
  readonly closing: AbortSignal;
  readonly #authenticate: Authenticate;
  readonly #limiter: RateLimiter | undefined;
  readonly #guesses: RateLimiter;
  readonly #known: Set<string> = new Set();

  constructor(settings: Settings, closing: AbortSignal) {
    this.closing = closing;
    this.streams = new StreamHub(Math.floor(settings.poolSize * streamShare), settings.maxStreams);
    this.settings = settings;
    this.database = new Database(settings);
    this.catalog = new Catalog(this.database, settings.apiSchema);
    this.#authenticate = authenticator(settings);
    this.#guesses = new RateLimiter(settings.unknownKeys);
    this.#limiter = settings.rateLimit === false ? undefined : new RateLimiter(settings.rateLimit);
  }

  /**
   * Admits a request, once, before any other part of it is read. The request counts against the rate limit of its
   * caller. It must have a valid JWT or something that has the form of a key. The request's transaction later looks
   * up the key's owner.
   */
  async admit(c: RequestContext): Promise<Credential> {
    const admitted = c.get("credential");
    if (admitted !== undefined) return admitted;
    const { headers } = c.req.raw;
    let token: string | undefined;
    try {
      token = tokenOf(headers);
    } catch (error) {
      this.#limiter?.take(digestOf(addressOf(c)));
      throw error;
    }
    const digest = digestOf(token ?? addressOf(c));
    this.#limiter?.take(digest);
    if (token !== undefined && isKey(token) && !this.#known.has(digest)) this.#guesses.take(addressOf(c));
    const credential = await this.#authenticate(headers);
    c.set("credential", credential);
    return credential;
  }

  /** Admits a request whose address has a token. Accepts the local token only: others do not belong into an address. */
  async admitBy(c: RequestContext, token: string, local: LocalToken): Promise<void> {
    this.#limiter?.take(digestOf(addressOf(c)));
    if (!isToken(token, local)) throw unauthorized("The token in the address is not the one of this server");
    c.set("credential", await this.#authenticate(new Headers({ authorization: `Bearer ${token}` })));
  }

  /** Runs work for a request as its caller, in one transaction. */
  async as<T>(c: RequestContext, work: (session: ApiSession) => Promise<T>): Promise<T> {
    const credential = await this.admit(c);
    return await this.#act(credential, async (session) => {
      if (credential.kind === "key") this.#remember(credential.digest);
      c.set("role", session.caller.role);
      if (session.caller.tenantId !== undefined) c.set("tenantId", session.caller.tenantId);
      return await work(session);
    });
  }

  #remember(digest: string): void {
    this.#known.add(digest);
    const [oldest] = this.#known;
    if (this.#known.size > maxKnownKeys && oldest !== undefined) this.#known.delete(oldest);
  }

  /** Runs work as the owner of the token in the headers. Checks the token each time, because it may have expired. */
  asToken(headers: Headers): <T>(work: (session: ApiSession) => Promise<T>) => Promise<T> {
    return async (work) => await this.#act(await this.#authenticate(headers), work);
  }

  async #act<T>(credential: Credential, work: (session: ApiSession) => Promise<T>): Promise<T> {
    // Read the catalog before taking a connection: a caller that holds one must not wait for another.
    const { functions } = await this.catalog.contents();
    return await this.database.as(credential, (session) => work(apiSession(session, functions)));
  }

  async close(): Promise<void> {
    await this.database.close();
  }
}

function addressOf(c: RequestContext): string {
  return c.env?.incoming?.socket?.remoteAddress ?? "unknown";
}
