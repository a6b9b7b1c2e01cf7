/**
 * The one way to the kernel: call an API function by name with named arguments. Everything else in the SDK and in workers is
 * built on this, so a new transport is a file of its own and nothing else.
 */

export interface CallOptions {
  /** Gives up waiting for the answer; whether the call took effect is then unknown. Fails with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The same after so many milliseconds, with a `TimeoutError`. Default: what the transport was made with. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Arguments by their SQL names, such as `p_tenant_id`. Undefined ones are left out, so the function's default applies; null is NULL. JSON
 * arguments are plain values, or `JsonText` to pass text on as it is; times are a `Date` or ISO text; arrays of texts are arrays.
 */
export type CallArguments = Readonly<Record<string, unknown>>;

export interface Transport {
  /**
   * Calls a function of the API schema, such as `jobforge_enqueue_job`, and answers what it returned as JSON, times as ISO
   * strings: the value of a scalar function, an array of objects for a set of rows, null for nothing. Fails with a `JobForgeError`.
   */
  call<T>(name: string, args: CallArguments, options?: CallOptions): Promise<T>;

  /**
   * Subscribes to Postgres channels, on a connection of its own that is checked and replaced. Answers after the first try to
   * connect, whether it is up (`onState` said so) or will be tried again. Absent where there is no session to listen on: HTTP,
   * transaction-mode poolers.
   */
  readonly listen?: ((channels: readonly string[], events: ListenEvents) => Promise<Listener>) | undefined;

  /**
   * Runs work in one database transaction: committed when it resolves, rolled back when it throws. `client` is the driver's
   * own connection for the caller's statements; `transport` calls kernel functions in the same transaction. Absent over HTTP.
   */
  readonly transaction?:
    | (<T>(work: (client: unknown, transport: Transport) => Promise<T>) => Promise<T>)
    | undefined;

  /**
   * How many connections calls and transactions share, at most; undefined where that is not known or does not matter. Workers keep
   * their handlers' transactions from taking all of them.
   */
  readonly maxConnections?: number | undefined;

  close(): Promise<void>;
}

export interface ListenEvents {
  readonly onNotification: (channel: string, payload: string) => void;
  /** The connection was lost or came back; between the two, notifications may have been missed. */
  readonly onState?: ((state: "up" | "down", error?: Error) => void) | undefined;
}

export interface Listener {
  close(): Promise<void>;
}
