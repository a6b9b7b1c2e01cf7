/**
 * A network between clients and a Postgres that can be told to misbehave: connections are cut, stall, become slow, are forgotten
 * half-way, and notifications are lost. Clients see nothing but TCP.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { Flow, type Weather } from "./flow.ts";
import { BackendMessages } from "./frames.ts";

const FAIR: Weather = { stalled: false, delayMs: 0, chunkBytes: 0, dropNotifications: false };

/** A client, its connection to the server, and the bytes between them. */
interface Link {
  readonly client: Socket;
  readonly server: Socket;
  readonly flows: readonly Flow[];
  /** Forgotten: nothing goes through any more, and nobody is told. */
  isForgotten: boolean;
}

export class FaultProxy {
  readonly #server: Server;
  readonly #target: number;
  readonly #links = new Set<Link>();
  #weather: Weather = { ...FAIR };
  #dropped = 0;

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer((client) => this.#accept(client));
  }

  /** Listens on a free port of this machine, for a server on another. */
  static async before(target: number): Promise<FaultProxy> {
    const proxy = new FaultProxy(target);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Connections that bytes go through. */
  get open(): number {
    return this.#links.size;
  }

  /** Notifications swallowed so far. */
  get dropped(): number {
    return this.#dropped;
  }

  /** The URL given, by way of the proxy. */
  through(url: string): string {
    const changed = new URL(url);
    changed.host = `127.0.0.1:${this.port}`;
    return changed.href;
  }

  /** Changes what the network does from now on. */
  set(weather: Partial<Weather>): void {
    this.#weather = { ...this.#weather, ...weather };
    for (const link of this.#links) for (const flow of link.flows) flow.pump();
  }

  /** Cuts every connection, without a word to either side. */
  cut(): number {
    const cut = this.#links.size;
    for (const link of this.#links) this.#drop(link);
    return cut;
  }

  /**
   * Existing connections stay open and dead on both sides, as behind a router that lost its table. New ones work. The server notices by its
   * keepalive after a while; clients are never told.
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
    const weather = (): Weather => (link.isForgotten ? { ...FAIR, stalled: true } : this.#weather);
    const link: Link = {
      client,
      server,
      isForgotten: false,
      flows: [
        new Flow(client, server, weather),
        new Flow(server, client, weather, (chunk) => {
          const { bytes, dropped } = messages.take(chunk, this.#weather.dropNotifications);
          this.#dropped += dropped;
          return bytes;
        }),
      ],
    };
    this.#links.add(link);
    for (const socket of [client, server]) {
      socket.on("error", () => this.#lost(link));
      // The end of one side goes on to the other behind the bytes before it: a last word such as "too many clients" is heard.
      socket.on("close", () => {
        if (client.destroyed && server.destroyed) this.#links.delete(link);
      });
    }
    // A connection that comes while everything stalls is accepted by the network and hears nothing.
    for (const flow of link.flows) flow.pump();
  }

  /** One side is gone, so the other goes too; unless the network has forgotten that they belong together. */
  #lost(link: Link): void {
    if (!link.isForgotten) this.#drop(link);
  }

  #drop(link: Link): void {
    if (!this.#links.delete(link)) return;
    for (const flow of link.flows) flow.stop();
    // Not by resetAndDestroy: it waits for bytes that a peer which stands still never takes, and a handle that is shutting down
    // cannot be reset and is never closed.
    link.client.destroy();
    link.server.destroy();
  }
}
