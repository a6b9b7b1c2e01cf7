/** What a server can be told. Everything has a safe default except the database and how callers prove who they are. */
import type { TickHandler } from "@jobforge/worker-ts";
import type { Logger } from "pino";

/** The roles that a token may act as. */
export const clientRoles = [
  "jobforge_tenant",
  "jobforge_app",
  "jobforge_worker",
  "jobforge_operator",
  "jobforge_reader",
] as const;

export type ClientRole = (typeof clientRoles)[number];

export interface RateLimit {
  /** Requests a second that go on for ever. */
  readonly perSecond: number;
  /** Requests at once. */
  readonly burst: number;
}

export interface ServerOptions {
  /** The URL of the database. Its login must be a member of the five client roles, and needs no other right. Default: `DATABASE_URL`. */
  readonly database?: string | undefined;
  /** The API schema that was chosen when migrating. Default `public`. */
  readonly apiSchema?: string | undefined;
  /** Connections to the database. Default 10. */
  readonly poolSize?: number | undefined;
  /** The secret of tokens signed with HS256, at least 32 bytes. Default: `JOBFORGE_JWT_SECRET`. */
  readonly jwtSecret?: string | undefined;
  /** Where the public keys of tokens are, for RS256, ES256 and EdDSA. Default: `JOBFORGE_JWKS_URL`. */
  readonly jwksUrl?: string | undefined;
  /** Only tokens of this issuer. */
  readonly jwtIssuer?: string | undefined;
  /** Only tokens for this audience. */
  readonly jwtAudience?: string | undefined;
  /**
   * Requests without a token act as this role. For development only: it makes the server refuse requests that were sent to another name
   * than this machine's, or by pages of another origin, and `listen` refuse to open to the network.
   */
  readonly anonymousRole?: ClientRole | undefined;
  /** Requests per token or key. Default 1000 a second, 2000 at once; false: no limit. */
  readonly rateLimit?: RateLimit | false | undefined;
  /** Keys that the server has not met before, per address: each costs the database a look. Default 50 a second, 500 at once. */
  readonly unknownKeys?: RateLimit | undefined;
  /** Live streams of one token at once. Default 1000. */
  readonly maxStreams?: number | undefined;
  /** Origins whose pages may call, such as `https://app.example.com`. Default: none. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** The largest request. Default 8 MiB. */
  readonly maxBodyBytes?: number | undefined;
  /** How long a request may take in the database. Default 30 seconds. */
  readonly timeoutMs?: number | undefined;
  /** Rows of a view in one answer, at most. Default 1000. */
  readonly maxRows?: number | undefined;
  /** What `POST /api/jobs/tick` runs: a `createTickHandler(…)` of `@jobforge/worker-ts`, which checks its own secret. */
  readonly tick?: TickHandler | undefined;
  readonly metrics?: MetricsOptions | undefined;
  /** Where the access log goes. Default: JSON lines to standard output. */
  readonly logger?: Logger | undefined;
}

export interface MetricsOptions {
  /** What scrapers must send as a bearer token. Without it `/metrics` wants a token of jobforge_reader or jobforge_operator. */
  readonly secret?: string | undefined;
  /** A label for each tenant. Off by default: as many series as there are tenants. */
  readonly tenantLabels?: boolean | undefined;
}

/** The options with every default filled in. */
export interface Settings extends ServerOptions {
  readonly database: string;
  readonly apiSchema: string;
  readonly poolSize: number;
  readonly rateLimit: RateLimit | false;
  readonly unknownKeys: RateLimit;
  readonly maxStreams: number;
  readonly corsOrigins: readonly string[];
  readonly maxBodyBytes: number;
  readonly timeoutMs: number;
  readonly maxRows: number;
}

const MIN_SECRET_BYTES = 32;

/** Fails for a server that nobody could use, or that anybody could. */
export function readOptions(options: ServerOptions): Settings {
  const {
    database = process.env["DATABASE_URL"],
    jwtSecret = process.env["JOBFORGE_JWT_SECRET"],
    jwksUrl = process.env["JOBFORGE_JWKS_URL"],
  } = options;
  if (database === undefined || database === "")
    throw new TypeError(
      "database must be the URL of a Postgres database: pass it, or set the environment variable DATABASE_URL",
    );
  if (jwtSecret !== undefined && Buffer.byteLength(jwtSecret) < MIN_SECRET_BYTES)
    throw new TypeError(
      `jwtSecret must have at least ${MIN_SECRET_BYTES} bytes: a shorter one can be guessed from a token`,
    );
  if (jwksUrl !== undefined && !/^https?:\/\//.test(jwksUrl))
    throw new TypeError("jwksUrl must be an http or https URL");
  for (const origin of options.corsOrigins ?? []) requireOrigin(origin);
  return {
    ...options,
    database,
    jwtSecret,
    jwksUrl,
    apiSchema: options.apiSchema ?? "public",
    poolSize: options.poolSize ?? 10,
    rateLimit: options.rateLimit ?? { perSecond: 1000, burst: 2000 },
    unknownKeys: options.unknownKeys ?? { perSecond: 50, burst: 500 },
    maxStreams: options.maxStreams ?? 1000,
    corsOrigins: options.corsOrigins ?? [],
    maxBodyBytes: options.maxBodyBytes ?? 8 * 2 ** 20,
    timeoutMs: options.timeoutMs ?? 30_000,
    maxRows: options.maxRows ?? 1000,
  };
}

/** Browsers send scheme, host and port, in lower case. What is anything else is never equal to it, so nobody could call. */
function requireOrigin(origin: string): void {
  const isOne = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@]+$/.test(origin) && URL.canParse(origin);
  const written = isOne ? new URL(origin).origin : "null";
  // Schemes that are not the web's own, such as an app's, have no origin that this runtime knows.
  if (isOne && (written === origin || written === "null")) return;
  throw new TypeError(
    `corsOrigins must be origins such as https://app.example.com, without a path, as browsers send them; not ${origin}`,
  );
}
