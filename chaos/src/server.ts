/** The Postgres server of a run. It can be stopped in several ways, and always restarts on the same port. */
import { existsSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type EmbeddedPostgres, startEmbedded } from "@jobforge/embedded";

export interface ServerOptions {
  readonly directory: string;
  readonly version?: 15 | 18 | undefined;
}

const serverSettings = {
  max_connections: "80",
  // For the checks and the conductor when every other slot is taken.
  superuser_reserved_connections: "12",
  log_line_prefix: "%m [%p] %e ",
  log_min_messages: "warning",
  // Half the default, so that deadlocks are detected sooner.
  deadlock_timeout: "500ms",
};

export class ChaosServer {
  readonly #options: ServerOptions;
  #running: EmbeddedPostgres | undefined;
  #address: EmbeddedPostgres | undefined;

  constructor(options: ServerOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { directory, version = 18 } = this.#options;
    const port = this.#address?.port;
    this.#running ??= await startEmbedded({
      directory,
      version,
      settings: serverSettings,
      ...(port === undefined ? {} : { port }),
    });
    this.#address = this.#running;
  }

  get isUp(): boolean {
    return this.#running !== undefined;
  }

  get port(): number {
    return this.#known.port;
  }

  /** The URL of a database for the superuser. */
  urlFor(database: string): string {
    return this.#known.urlFor(database);
  }

  /** Stops the server as an administrator would: sessions are ended, and all data is written. */
  async stop(): Promise<void> {
    const server = this.#running;
    this.#running = undefined;
    await server?.stop({ leavingMs: 0 });
  }

  /** Stops the server as a crash would: nothing is written, and the next start recovers from the WAL. */
  async crash(): Promise<void> {
    const server = this.#running;
    if (server === undefined) return;
    this.#running = undefined;
    process.kill(server.pid, "SIGQUIT");
    while (existsSync(`/proc/${server.pid}`) && !isZombie(server.pid)) await sleep(10);
    await server.stop();
  }

  async remove(): Promise<void> {
    await this.stop();
    await rm(this.#options.directory, { recursive: true, force: true });
  }

  /** Counts the logged errors by SQLSTATE. */
  errorsLogged(): Record<string, number> {
    const file = join(this.#options.directory, `postgres-${this.#options.version ?? 18}`, "server.log");
    const counts: Record<string, number> = {};
    for (const [, code = ""] of readFileSync(file, "utf8").matchAll(/ (\w{5}) (?:ERROR|FATAL|PANIC): /g)) {
      counts[code] = (counts[code] ?? 0) + 1;
    }
    return counts;
  }

  get #known(): EmbeddedPostgres {
    if (this.#address === undefined) throw new Error("The server has not been started");
    return this.#address;
  }
}

function isZombie(pid: number): boolean {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8").replace(/\(.*\)/, ""));
  } catch {
    return true;
  }
}
