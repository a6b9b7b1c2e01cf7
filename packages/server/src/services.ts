/** The services that all routes share: the database, the catalog, streams, admission and budgets of memory. */
import type { ServerResponse } from "node:http";
import type { Context } from "hono";
import { clientAddress } from "./address.ts";
import { Admission } from "./admission.ts";
import type { RequestHead } from "./auth.ts";
import { ByteBudget } from "./byte-budget.ts";
import { type ApiSession, apiSession } from "./calls.ts";
import { Catalog } from "./catalog.ts";
import { type Credential, Database, unauthorized, type Waiting } from "./database.ts";
import { RequestError } from "./errors.ts";
import { identityOf } from "./identity.ts";
import { isToken } from "./local-token.ts";
import type { LocalToken, Settings } from "./options.ts";
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
  Bindings: { incoming?: { socket?: { remoteAddress?: string } }; outgoing?: ServerResponse };
}

type RequestContext = Context<Environment>;

/** Streams may use this share of the connections. */
const streamShare = 1 / 4;

const mebibyte = 1024 * 1024;

/** The most bytes of bodies that are being received, or whose requests wait or run. */
const maxBodiesBytes = 128 * mebibyte;

/** The most bytes of answers that clients have not received. */
const maxAnswersBytes = 128 * mebibyte;

export class Services {
  readonly settings: Settings;
  readonly database: Database;
  readonly catalog: Catalog;
  readonly streams: StreamHub;
  readonly bodies: ByteBudget = new ByteBudget({ what: "bodies of requests", size: maxBodiesBytes });
  readonly answers: ByteBudget = new ByteBudget({ what: "unread responses", size: maxAnswersBytes });
  /** Aborted when the server closes. */
  readonly closing: AbortSignal;
  readonly #admission: Admission;

  constructor(settings: Settings, closing: AbortSignal) {
    this.closing = closing;
    this.streams = new StreamHub(Math.floor(settings.poolSize * streamShare), settings.maxStreams);
    this.settings = settings;
    this.database = new Database(settings);
    this.catalog = new Catalog(this.database, settings.apiSchema);
    this.#admission = new Admission(settings);
  }

  /**
   * Admits a request, once, before any other part of it is read. The request counts against the limit of its caller,
   * or of its address if it has no valid token.
   */
  async admit(c: RequestContext): Promise<Credential> {
    const admitted = c.get("credential");
    if (admitted !== undefined) return admitted;
    const credential = await this.#admission.admit(c.req.raw, this.#addressOf(c));
    c.set("credential", credential);
    return credential;
  }

  /** Counts a request that is served without a token against the limit of its address. */
  admitOpen(c: RequestContext): void {
    this.#admission.takeOpen(this.#addressOf(c));
  }

  /** Admits a request whose address has a token. Accepts the local token only: others do not belong into an address. */
  async admitBy(c: RequestContext, token: string, local: LocalToken): Promise<void> {
    this.admitOpen(c);
    if (!isToken(token, local)) throw unauthorized("The token in the address is not the one of this server");
    const headers = new Headers({ authorization: `Bearer ${token}` });
    c.set("credential", await this.#admission.recheck({ method: c.req.method, headers }));
  }

  /** Admits a request by the token in its body, which is to become a session. */
  async signIn(c: RequestContext, token: string): Promise<void> {
    const headers = new Headers({ authorization: `Bearer ${token}` });
    c.set("credential", await this.#admission.admit({ method: c.req.method, headers }, this.#addressOf(c)));
  }

  /**
   * The caller that the resources of an admitted request count for. A key that was never valid before counts for its
   * address: anyone can make up keys. Undefined if the request was not admitted with a token.
   */
  callerOf(c: RequestContext): string | undefined {
    const credential = c.get("credential");
    if (credential === undefined) return undefined;
    if (credential.kind === "key" && !this.#admission.isAccepted(credential.digest))
      return `address ${this.#addressOf(c)}`;
    return identityOf(credential);
  }

  /** Runs work for a request as its caller, in one transaction. Refuses callers that do not read their answers. */
  async as<T>(c: RequestContext, work: (session: ApiSession) => Promise<T>): Promise<T> {
    const credential = await this.admit(c);
    const { signal } = c.req.raw;
    const identity = this.callerOf(c);
    const run = async (session: ApiSession): Promise<T> => {
      if (credential.kind === "key") this.#admission.accept(credential.digest, session.caller.tenantId);
      c.set("role", session.caller.role);
      if (session.caller.tenantId !== undefined) c.set("tenantId", session.caller.tenantId);
      // Checked when the request has a connection: while it waited, other answers may have become too many.
      this.answers.require(identityOf(credential));
      return await work(session);
    };
    try {
      return await this.#act(credential, run, { identity, signal });
    } catch (error) {
      if (credential.kind === "key" && error instanceof RequestError && error.status === 401)
        this.#admission.refuse(credential.digest, this.#addressOf(c));
      throw error;
    }
  }

  /** Runs work as the caller of a request. Checks the token each time, because it may have expired. */
  asCallerOf(request: RequestHead): <T>(work: (session: ApiSession) => Promise<T>) => Promise<T> {
    return async (work) => await this.#act(await this.#admission.recheck(request), work);
  }

  async #act<T>(
    credential: Credential,
    work: (session: ApiSession) => Promise<T>,
    waiting: Omit<Waiting, "group"> = {},
  ): Promise<T> {
    // Read the catalog before taking a connection: a caller that holds one must not wait for another.
    const { functions } = await this.catalog.contents();
    const group = this.#admission.groupOf(credential);
    return await this.database.as(credential, (session) => work(apiSession(session, functions)), {
      ...waiting,
      group,
    });
  }

  #addressOf(c: RequestContext): string {
    const socket = c.env?.incoming?.socket?.remoteAddress;
    return clientAddress(socket, c.req.raw.headers, this.settings.trustProxy);
  }

  async close(): Promise<void> {
    await this.database.close();
  }
}
