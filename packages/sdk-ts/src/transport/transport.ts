/**
 * The only way to the kernel: call an API function by name with named arguments. The rest of the SDK and the workers
 * are built on this interface, so a new transport needs only a file of its own.
 */

import type { StoredArtifact } from "../artifacts/store.ts";

export interface CallOptions {
  /**
   * Stops waiting for the result, and rejects with the signal's reason. Whether the call took effect is then unknown.
   */
  readonly signal?: AbortSignal | undefined;
  /** Stops waiting after this time, and rejects with a `TimeoutError`. Default: the timeout of the transport. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Arguments by their SQL names, such as `p_tenant_id`. An undefined argument is left out, so the function's default
 * applies; null is NULL. JSON arguments are plain values, or `JsonText` to pass text on as it is. Times are a `Date` or
 * an ISO string. Text arrays are arrays of strings.
 */
export type CallArguments = Readonly<Record<string, unknown>>;

export interface Transport {
  /**
   * Calls a function of the API schema, such as `jobforge_enqueue_job`. Resolves with its result as JSON, with times as
   * ISO strings: the value of a scalar function, an array of objects for a set of rows, null for no result. Rejects
   * with a `JobForgeError`.
   */
  call<T>(name: string, args: CallArguments, options?: CallOptions): Promise<T>;

  /**
   * Subscribes to Postgres channels, on a connection of its own that is checked and replaced. Resolves after the first
   * try to connect: either the connection is up, which `onState` has reported, or the next try follows. Absent if there
   * is no session to listen on: over HTTP and with transaction-mode poolers.
   */
  readonly listen?: ((channels: readonly string[], events: ListenEvents) => Promise<Listener>) | undefined;

  /**
   * Runs work in one database transaction. The transaction is committed when the work resolves, and rolled back when it
   * rejects. `client` is the driver's own connection, for the caller's statements. `transport` calls kernel functions
   * in the same transaction. Absent over HTTP.
   */
  readonly transaction?:
    | (<T>(work: (client: unknown, transport: Transport) => Promise<T>) => Promise<T>)
    | undefined;

  /**
   * Reads a file of the server, such as an artifact. Resolves with undefined if it is missing. Absent without a server.
   */
  readonly download?:
    | ((path: string, options?: CallOptions) => Promise<AsyncIterable<Buffer> | undefined>)
    | undefined;

  /** Sends a content to the server, which stores it as an artifact. Absent without a server. */
  readonly upload?:
    | ((path: string, content: Buffer, options?: CallOptions) => Promise<StoredArtifact>)
    | undefined;

  /** Whether calls run in a transaction of the caller. They are then sent before `call` returns. */
  readonly isTransaction?: true | undefined;

  /**
   * The maximum number of connections that calls and transactions share; undefined if it is not known or does not
   * matter. Workers keep the transactions of their handlers from using all of them.
   */
  readonly maxConnections?: number | undefined;

  close(): Promise<void>;
}

export interface ListenEvents {
  readonly onNotification: (channel: string, payload: string) => void;
  /** The connection is up or was lost. Between `down` and `up`, notifications may have been missed. */
  readonly onState?: ((state: "up" | "down", error?: Error) => void) | undefined;
}

export interface Listener {
  close(): Promise<void>;
}
