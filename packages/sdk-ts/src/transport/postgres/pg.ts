/** What the SDK uses of `pg`, by structure, so that its declarations need no types of a driver. */

export interface PgQueryResult {
  readonly rows: readonly unknown[];
  readonly command?: string;
}

/** A connection of `pg`: a Client, or what a Pool lends. */
export interface PgClient {
  query(text: string, values?: unknown[]): Promise<PgQueryResult>;
}

export interface PgPoolClient extends PgClient {
  release(destroy?: boolean | Error): void;
  on(event: "error", listener: (error: Error) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
}

/** A `pg.Pool`. */
export interface PgPool {
  connect(): Promise<PgPoolClient>;
  connect(callback: (error: Error | undefined, client: PgPoolClient | undefined) => void): void;
  end(): Promise<void>;
  readonly totalCount: number;
}

/** A client as it is used for LISTEN. */
export interface PgListenClient extends PgClient {
  connect(): Promise<unknown>;
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  on(
    event: "notification",
    listener: (message: { readonly channel: string; readonly payload?: string | undefined }) => void,
  ): unknown;
}

/** Options of `pg.Pool` that are handed on, such as `max` (10), `ssl` or `idleTimeoutMillis`. */
export type PgPoolOptions = Readonly<Record<string, unknown>>;

export function isPool(value: object): value is PgPool {
  return "connect" in value && "totalCount" in value && "query" in value;
}

export function isClient(value: unknown): value is PgClient {
  return typeof value === "object" && value !== null && "query" in value && typeof value.query === "function";
}
