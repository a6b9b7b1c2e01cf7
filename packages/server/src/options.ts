/**
 * The options of a server. All have safe defaults, except the database and the way in which callers are
 * authenticated.
 */
import type { ArtifactStore, ClientRole, WebhookSignature } from "@jobforge/sdk-ts";
import type { TickHandler } from "@jobforge/worker-ts";
import type { Logger } from "pino";
import type { TrustProxy } from "./address.ts";

export interface RateLimit {
  /** Requests per second, sustained. */
  readonly perSecond: number;
  /** Requests at once, after a quiet time. */
  readonly burst: number;
}

export interface ServerOptions {
  /**
   * The URL of the database. Its login must be a member of the five client roles, and needs no other rights.
   * Default: `DATABASE_URL`.
   */
  readonly database?: string | undefined;
  /** The API schema that was chosen at migration. Default `public`. */
  readonly apiSchema?: string | undefined;
  /** The most connections to the database. Default 10. */
  readonly poolSize?: number | undefined;
  /** The most connections that one caller may hold at once. Default: half of `poolSize`. */
  readonly connectionsPerCaller?: number | undefined;
  /** The most requests of one caller that may wait for a connection. More are refused with 429. Default 1000. */
  readonly waitingPerCaller?: number | undefined;
  /** The secret for tokens signed with HS256, at least 32 bytes. Default: `JOBFORGE_JWT_SECRET`. */
  readonly jwtSecret?: string | undefined;
  /** The URL of the public keys for tokens signed with RS256, ES256 or EdDSA. Default: `JOBFORGE_JWKS_URL`. */
  readonly jwksUrl?: string | undefined;
  /** Accepts only tokens from this issuer. */
  readonly jwtIssuer?: string | undefined;
  /** Accepts only tokens for this audience. */
  readonly jwtAudience?: string | undefined;
  /** Accepts JWTs without the claim `exp`. They are valid until the secret changes. Default false. */
  readonly allowJwtWithoutExp?: boolean | undefined;
  /**
   * Requests without a token act as this role. For development only. The server then refuses requests without a token
   * that use another host name than this machine's, that come from pages of another origin or site, or whose body is
   * not JSON. `listen` refuses any host but this machine.
   */
  readonly anonymousRole?: ClientRole | undefined;
  /**
   * A token for the developer of this machine. Requests that have it act as its role, as a bearer token or as the
   * cookie that the page sets when it is opened with `?token=…`. `listen` refuses any host but this machine.
   */
  readonly localToken?: LocalToken | undefined;
  /**
   * The rate limit of each caller: of the issuer, role, tenant and subject of JWTs, or of a key. Default: 1000 per
   * second, 2000 at once. `false`: no limit.
   */
  readonly rateLimit?: RateLimit | false | undefined;
  /**
   * The rate limit, per address, of requests without a valid token. Above it, tokens that the server has not accepted
   * before are refused as well. Default: 50 per second, 500 at once.
   */
  readonly addressLimit?: RateLimit | undefined;
  /**
   * How to find a client's address behind proxies. A number: how many proxies append to X-Forwarded-For. A text: the
   * name of a header that your proxy sets to the address. Default `false`: the address of the connection.
   */
  readonly trustProxy?: TrustProxy | undefined;
  /** The most live streams of one caller at once. Default 1000. */
  readonly maxStreams?: number | undefined;
  /** The origins whose pages may call the server, such as `https://app.example.com`. Default: none. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** The largest body of a request. Default 8 MiB. */
  readonly maxBodyBytes?: number | undefined;
  /** How long a request may take in the database. Default 30 seconds. */
  readonly timeoutMs?: number | undefined;
  /** The most rows of a view in one response. Default 1000. */
  readonly maxRows?: number | undefined;
  /** Serves `/api/jobs/tick`: a `createTickHandler(…)` of `@jobforge/worker-ts`, which checks its own secret. */
  readonly tick?: TickHandler | undefined;
  /** Serves artifacts, such as reports: `openStore(…)` of `@jobforge/connectors`. Default: none. */
  readonly artifacts?: ArtifactStore | undefined;
  /**
   * Returns what receivers verify signatures of webhooks with: `webhookSecrets(masterKeys)` of `@jobforge/connectors`.
   * Default: the server does not show secrets.
   */
  readonly webhookSecrets?: SecretsOfEndpoint | undefined;
  readonly metrics?: MetricsOptions | undefined;
  /**
   * How the dashboard is labelled. Default `{}`: without labels. `false`: only the API is served.
   */
  readonly dashboard?: DashboardOptions | false | undefined;
  /**
   * The path under which a proxy passes requests on without removing it, such as `/ops/jobs`. A proxy that removes its
   * prefix needs no setting.
   */
  readonly basePath?: string | undefined;
  /** Writes the access log. Default: JSON lines to standard output. */
  readonly logger?: Logger | undefined;
}

/** Returns the secrets of an endpoint, the newest first; undefined if one of its master keys is missing. */
export type SecretsOfEndpoint = (endpoint: {
  readonly id: string;
  readonly tenant_id: string;
  readonly signature: WebhookSignature;
  readonly keys: readonly {
    readonly version: number;
    readonly master_key: string;
    readonly until?: string | undefined;
  }[];
}) =>
  | readonly { readonly version: number; readonly secret: string; readonly until?: string | undefined }[]
  | undefined;

export interface DashboardOptions {
  /** Default `JobForge`. */
  readonly title?: string | undefined;
  /** A label that tells this system from others, such as `production`. */
  readonly environment?: string | undefined;
  /** The colour of the label, as CSS writes it in hex: `#b91c1c`. */
  readonly color?: string | undefined;
  /** The address of a trace, in which `{trace_id}` stands for its id. */
  readonly traceUrl?: string | undefined;
  /** The origins whose pages may show the dashboard in a frame, such as `https://app.example.com`. Default: none. */
  readonly frameOrigins?: readonly string[] | undefined;
  /** A built dashboard of your own, in the form that `src/dashboard/folder.ts` describes. */
  readonly folder?: URL | undefined;
}

export interface LocalToken {
  readonly role: ClientRole;
  /** At least 32 characters of the URL-safe Base64 alphabet. */
  readonly token: string;
}

export interface MetricsOptions {
  /**
   * The bearer token for scrapers. Without this option, `/metrics` requires a token of jobforge_reader or
   * jobforge_operator.
   */
  readonly secret?: string | undefined;
  /** Adds a label for the tenant. Off by default, because it creates as many series as there are tenants. */
  readonly tenantLabels?: boolean | undefined;
}

/** The options with all defaults filled in. */
export interface Settings extends ServerOptions {
  readonly database: string;
  readonly apiSchema: string;
  readonly poolSize: number;
  readonly connectionsPerCaller: number;
  readonly waitingPerCaller: number;
  readonly allowJwtWithoutExp: boolean;
  readonly rateLimit: RateLimit | false;
  readonly addressLimit: RateLimit;
  readonly trustProxy: TrustProxy;
  readonly maxStreams: number;
  readonly corsOrigins: readonly string[];
  readonly maxBodyBytes: number;
  readonly timeoutMs: number;
  readonly maxRows: number;
  readonly basePath: string;
}

const minSecretBytes = 32;
/** Needs no quotes in a cookie and no escapes in a URL. */
const localTokenPattern = /^[A-Za-z0-9_-]{32,}$/;

const defaults = {
  apiSchema: "public",
  poolSize: 10,
  waitingPerCaller: 1000,
  allowJwtWithoutExp: false,
  rateLimit: { perSecond: 1000, burst: 2000 },
  addressLimit: { perSecond: 50, burst: 500 },
  trustProxy: false,
  maxStreams: 1000,
  corsOrigins: [],
  maxBodyBytes: 8 * 2 ** 20,
  timeoutMs: 30_000,
  maxRows: 1000,
  basePath: "",
} as const;

/** Checks the options. Throws if the server could not work, or would be open to anyone. */
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
  if (jwtSecret !== undefined && Buffer.byteLength(jwtSecret) < minSecretBytes)
    throw new TypeError(
      `jwtSecret must have at least ${minSecretBytes} bytes: a shorter secret can be guessed from a token`,
    );
  if (jwksUrl !== undefined && !/^https?:\/\//.test(jwksUrl))
    throw new TypeError("jwksUrl must be an http or https URL");
  if (options.localToken !== undefined && !localTokenPattern.test(options.localToken.token))
    throw new TypeError("localToken.token must have at least 32 letters, digits, - or _");
  for (const origin of options.corsOrigins ?? []) requireOrigin("corsOrigins", origin);
  requireProxy(options.trustProxy ?? defaults.trustProxy);
  requireBasePath(options.basePath ?? defaults.basePath);
  requireDashboard(options.dashboard || {});
  const poolSize = options.poolSize ?? defaults.poolSize;
  return {
    ...options,
    database,
    jwtSecret,
    jwksUrl,
    apiSchema: options.apiSchema ?? defaults.apiSchema,
    poolSize,
    connectionsPerCaller: options.connectionsPerCaller ?? Math.ceil(poolSize / 2),
    waitingPerCaller: options.waitingPerCaller ?? defaults.waitingPerCaller,
    allowJwtWithoutExp: options.allowJwtWithoutExp ?? defaults.allowJwtWithoutExp,
    rateLimit: options.rateLimit ?? defaults.rateLimit,
    addressLimit: options.addressLimit ?? defaults.addressLimit,
    trustProxy: options.trustProxy ?? defaults.trustProxy,
    maxStreams: options.maxStreams ?? defaults.maxStreams,
    corsOrigins: options.corsOrigins ?? defaults.corsOrigins,
    maxBodyBytes: options.maxBodyBytes ?? defaults.maxBodyBytes,
    timeoutMs: options.timeoutMs ?? defaults.timeoutMs,
    maxRows: options.maxRows ?? defaults.maxRows,
    basePath: options.basePath ?? defaults.basePath,
  };
}

/** Browsers send scheme, host and port in lower case. An origin in any other form would never match. */
function requireOrigin(option: string, origin: string): void {
  const isOrigin = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@]+$/.test(origin) && URL.canParse(origin);
  const written = isOrigin ? new URL(origin).origin : "null";
  // URL.origin is "null" for schemes other than those of the web, such as the scheme of an app.
  if (isOrigin && (written === origin || written === "null")) return;
  throw new TypeError(
    `${option} must be origins as browsers send them, such as https://app.example.com, without a path; not ${origin}`,
  );
}

function requireProxy(trustProxy: TrustProxy): void {
  if (trustProxy === false) return;
  const isHops = typeof trustProxy === "number" && Number.isInteger(trustProxy) && trustProxy >= 1;
  const isHeader = typeof trustProxy === "string" && /^[a-z][a-z0-9-]*$/i.test(trustProxy);
  if (!isHops && !isHeader)
    throw new TypeError(
      "trustProxy must be false, the number of proxies that append to X-Forwarded-For, or the name of a header",
    );
}

function requireBasePath(basePath: string): void {
  if (basePath !== "" && !/^(\/[\w.~-]+)+$/.test(basePath))
    throw new TypeError("basePath must be a path without a slash at its end, such as /ops/jobs");
}

function requireDashboard({ color, traceUrl, frameOrigins = [] }: DashboardOptions): void {
  for (const origin of frameOrigins) requireOrigin("dashboard.frameOrigins", origin);
  if (color !== undefined && !/^#([0-9a-f]{3}|[0-9a-f]{6})$/i.test(color))
    throw new TypeError("dashboard.color must be a colour in hex, such as #b91c1c");
  if (traceUrl !== undefined && !(/^https?:\/\//.test(traceUrl) && traceUrl.includes("{trace_id}")))
    throw new TypeError("dashboard.traceUrl must be an http or https URL that contains {trace_id}");
}
