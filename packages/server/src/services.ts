/** What every route works with. */
import type { Context } from "hono";
import { type Authenticate, authenticator, digestOf, isKey, tokenOf } from "./auth.ts";
import { type ApiSession, apiSession } from "./calls.ts";
import { Catalog } from "./catalog.ts";
import { type Credential, Database } from "./database.ts";
import type { Settings } from "./options.ts";
import { RateLimiter } from "./rate-limit.ts";
import { StreamHub } from "./stream/hub.ts";

export interface Environment {
  Variables: {
    /** The W3C header that the request came with, or one that was made for it. */
    traceparent: string;
    /** For the access log: who it was, as far as that is known. */
    role: string;
    tenantId: string;
    /** How the caller proves who it is, once it was let in. */
    credential: Credential | undefined;
  };
  /** What the Node adapter hands on; nothing when the server is embedded elsewhere. */
  Bindings: { incoming?: { socket?: { remoteAddress?: string } } };
}

type RequestContext = Context<Environment>;

/** Keys that were recognised and are remembered, so that they do not count as guesses. */
const MAX_KNOWN = 10_000;

export class Services {
  readonly settings: Settings;
  readonly database: Database;
  readonly catalog: Catalog;
  readonly streams: StreamHub;
  /** Aborted when the server ends. */
  readonly closing: AbortSignal;
  readonly #authenticate: Authenticate;
  readonly #limiter: RateLimiter | undefined;
  readonly #guesses: RateLimiter;
  readonly #known: Set<string> = new Set();

  constructor(settings: Settings, closing: AbortSignal) {
    this.closing = closing;
    this.streams = new StreamHub(Math.floor(settings.poolSize / 4), settings.maxStreams);
    this.settings = settings;
    this.database = new Database(settings);
    this.catalog = new Catalog(this.database, settings.apiSchema);
    this.#authenticate = authenticator(settings);
    this.#guesses = new RateLimiter(settings.unknownKeys);
    this.#limiter = settings.rateLimit === false ? undefined : new RateLimiter(settings.rateLimit);
  }

  /**
   * Lets a request in, once, before anything of it is read: it counts against the limit of its caller, and shows a token that is valid or a
   * key that might be. Whose key it is, is looked up in the request's transaction.
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

  /** Runs a request's work as whoever sent it, in one transaction. */
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
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest);
  }

  /** Runs work as the holder of the token in a request's headers. The token is looked at anew each time: it may be over. */
  asToken(headers: Headers): <T>(work: (session: ApiSession) => Promise<T>) => Promise<T> {
    return async (work) => await this.#act(await this.#authenticate(headers), work);
  }

  async #act<T>(credential: Credential, work: (session: ApiSession) => Promise<T>): Promise<T> {
    // Before a connection is taken: whoever holds one must not wait for another.
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
