/** A proxy in front of a server, at a prefix that it removes or passes on. */
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

export interface Proxy extends AsyncDisposable {
  readonly url: string;
  /** Ends all connections and refuses new ones. */
  cut(): void;
  mend(): void;
}

export async function startProxy(target: string, prefix: string, keeps: boolean): Promise<Proxy> {
  let isCut = false;
  const server = createServer((incoming, outgoing) => {
    if (isCut) {
      incoming.socket.destroy();
      return;
    }
    const path = incoming.url ?? "/";
    if (!path.startsWith(prefix)) {
      outgoing.writeHead(404).end();
      return;
    }
    const address = new URL(keeps ? path : path.slice(prefix.length) || "/", target);
    const passed = request(address, { method: incoming.method, headers: incoming.headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on("error", () => outgoing.destroy());
    outgoing.on("close", () => passed.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`,
    cut: () => {
      isCut = true;
      server.closeAllConnections();
    },
    mend: () => {
      isCut = false;
    },
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
