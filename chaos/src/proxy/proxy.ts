/**
 * A TCP proxy between clients and Postgres that simulates network faults: it cuts, stalls, slows down or forgets
 * connections, and drops notifications. For clients it looks like a normal TCP connection.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { Flow, type NetworkConditions } from "./flow.ts";
import { BackendMessages } from "./frames.ts";

const normal: NetworkConditions = { stalled: false, delayMs: 0, chunkBytes: 0, dropNotifications: false };

/** A client, its connection to the server, and the bytes between them. */
interface Link {
  readonly client: Socket;
  readonly server: Socket;
  readonly flows: readonly Flow[];
  /** No bytes are forwarded, and neither side gets an error. */
  isForgotten: boolean;
}

export class FaultProxy {
  readonly #server: Server;
  readonly #target: number;
  readonly #links = new Set<Link>();
  #conditions: NetworkConditions = { ...normal };
  #dropped = 0;

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer((client) => this.#accept(client));
  }

  /** Listens on a free local port, and forwards to a server on the port `target`. */
  static async before(target: number): Promise<FaultProxy> {
    const proxy = new FaultProxy(target);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The number of open connections. */
  get open(): number {
    return this.#links.size;
  }

  /** The number of notifications dropped so far. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Changes a URL to go through the proxy. */
  through(url: string): string {
    const changed = new URL(url);
    changed.host = `127.0.0.1:${this.port}`;
    return changed.href;
  }

  /** Changes the network conditions. */
  set(conditions: Partial<NetworkConditions>): void {
    this.#conditions = { ...this.#conditions, ...conditions };
    for (const link of this.#links) for (const flow of link.flows) flow.pump();
  }

  /** Closes every connection abruptly. Returns their number. */
  cut(): number {
    const cut = this.#links.size;
    for (const link of this.#links) this.#drop(link);
    return cut;
  }

  /**
   * Makes all existing connections half-open: they stay open but dead on both sides, as behind a router that lost its
   * table. New connections work. The server notices after `serverNoticesMs`, as by its keepalive; clients never do.
   * Returns the number of connections.
   */
  forget(serverNoticesMs: number = 30_000): number {
    const forgotten = [...this.#links].filter((link) => !link.isForgotten);
    for (const link of forgotten) {
      link.isForgotten = true;
      link.client.pause();
      link.server.pause();
    }
    setTimeout(() => {
      for (const { server } of forgotten) server.destroy();
    }, serverNoticesMs).unref();
    return forgotten.length;
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, "close");
  }

  #accept(client: Socket): void {
    const server = connect(this.#target, "127.0.0.1");
    client.setNoDelay(true);
    server.setNoDelay(true);
    const messages = new BackendMessages();
    const conditions = (): NetworkConditions =>
      link.isForgotten ? { ...normal, stalled: true } : this.#conditions;
    const link: Link = {
      client,
      server,
      isForgotten: false,
      flows: [
        new Flow(client, server, conditions),
        new Flow(server, client, conditions, (chunk) => {
          const { bytes, dropped } = messages.take(chunk, this.#conditions.dropNotifications);
          this.#dropped += dropped;
          return bytes;
        }),
      ],
    };
    this.#links.add(link);
    for (const socket of [client, server]) {
      socket.on("error", () => this.#lost(link));
      // The end of one side reaches the other after all earlier bytes, so a final error such as "too many clients"
      // arrives.
      socket.on("close", () => {
        if (client.destroyed && server.destroyed) this.#links.delete(link);
      });
    }
    // A connection that is opened during a stall is accepted but receives nothing.
    for (const flow of link.flows) flow.pump();
  }

  /** One side has failed, so the other is closed as well, unless the connection is forgotten. */
  #lost(link: Link): void {
    if (!link.isForgotten) this.#drop(link);
  }

  #drop(link: Link): void {
    if (!this.#links.delete(link)) return;
    for (const flow of link.flows) flow.stop();
    // Not resetAndDestroy(): it waits for bytes that a stopped peer never reads. And a handle that is shutting down
    // cannot be reset, and would never be closed.
    link.client.destroy();
    link.server.destroy();
  }
}
