/**
 * Admits requests: finds out who is calling, and counts each request. A request of a verified caller counts for that
 * caller. A request without a valid token counts for its address. So a client without a token cannot use up, or push
 * out, the limit of a caller.
 */
import { type Authenticator, authenticator, type Proof, type RequestHead } from "./auth.ts";
import type { Credential } from "./database.ts";
import { RequestError } from "./errors.ts";
import { identityOf, tenantIdentityOf } from "./identity.ts";
import type { Settings } from "./options.ts";
import { RateLimiter } from "./rate-limit.ts";

/** How many accepted tokens are remembered. A remembered token is checked whatever its address did before. */
const maxAccepted = 10_000;

const withoutToken = "requests without a valid token from this address";

export class Admission {
  readonly #authenticator: Authenticator;
  /** By caller. */
  readonly #callers: RateLimiter | undefined;
  /** By address: requests that need no token, or whose token is missing or malformed. */
  readonly #open: RateLimiter;
  /** By address: tokens that were checked and refused. */
  readonly #refused: RateLimiter;
  /** The tokens that were accepted: digests, with the tenant that the token is bound to. */
  readonly #accepted: Map<string, string | undefined> = new Map();

  constructor(settings: Settings) {
    const { rateLimit, addressLimit } = settings;
    this.#authenticator = authenticator(settings);
    this.#callers =
      rateLimit === false ? undefined : new RateLimiter(rateLimit, { what: "requests of this caller" });
    this.#open = new RateLimiter(addressLimit, { what: withoutToken });
    this.#refused = new RateLimiter(addressLimit, { what: withoutToken });
  }

  /**
   * Finds out who is calling. A JWT is verified. A key has the form of a key, and the transaction of the request looks
   * it up: call `accept` or `refuse` then. Once too many tokens of an address were refused, tokens that were never
   * accepted before are refused without a check.
   */
  async admit(request: RequestHead, address: string): Promise<Credential> {
    const proof = this.#read(request, address);
    if (proof.kind === "claims") {
      this.#callers?.take(identityOf(proof));
      return proof;
    }
    const isAccepted = this.#accepted.has(proof.digest);
    if (!isAccepted) this.#refused.require(address);
    if (proof.kind === "key") {
      if (isAccepted) this.#callers?.take(identityOf(proof));
      return proof;
    }
    const credential = await this.#verify(proof, address);
    if (credential.kind === "claims") this.accept(proof.digest, credential.caller.tenantId);
    this.#callers?.take(identityOf(credential));
    return credential;
  }

  /** Finds out who is calling, and counts nothing. */
  async recheck(request: RequestHead): Promise<Credential> {
    return await this.#authenticator.verify(this.#authenticator.read(request));
  }

  /** Counts a request that is served without a token. */
  takeOpen(address: string): void {
    this.#open.take(address);
  }

  isAccepted(digest: string): boolean {
    return this.#accepted.has(digest);
  }

  /** The tenant whose connections a request uses. Undefined if it is bound to none, or if its key is not known yet. */
  groupOf(credential: Credential): string | undefined {
    if (credential.kind === "claims") return tenantIdentityOf(credential.caller.tenantId);
    return tenantIdentityOf(this.#accepted.get(credential.digest));
  }

  /** Remembers that a token was valid, and its tenant. */
  accept(digest: string, tenantId: string | undefined): void {
    this.#accepted.set(digest, tenantId);
    const [oldest] = this.#accepted.keys();
    if (this.#accepted.size > maxAccepted && oldest !== undefined) this.#accepted.delete(oldest);
  }

  /** Counts a token that was checked and is not valid. */
  refuse(digest: string, address: string): void {
    this.#accepted.delete(digest);
    this.#refused.charge(address);
  }

  #read(request: RequestHead, address: string): Proof {
    try {
      return this.#authenticator.read(request);
    } catch (error) {
      this.#open.take(address);
      throw error;
    }
  }

  async #verify(proof: Proof & { readonly kind: "jwt" }, address: string): Promise<Credential> {
    try {
      return await this.#authenticator.verify(proof);
    } catch (error) {
      // Public keys that cannot be fetched are not the caller's error.
      if (error instanceof RequestError && error.status < 500) this.refuse(proof.digest, address);
      throw error;
    }
  }
}
