/** Servers on loopback that end with their test. */
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";

export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  /** The port of the client, which identifies its connection. */
  readonly clientPort: number;
}

export interface TestServer {
  readonly port: number;
  readonly url: string;
  readonly received: Received[];
}

/** Starts a server that keeps what it receives. The listener is called when the whole body has arrived. */
export async function startServer(
  listener: (request: Received, response: Parameters<RequestListener>[1]) => void,
  tls?: { readonly key: string; readonly cert: string },
): Promise<TestServer> {
  const received: Received[] = [];
  const listen: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on("error", () => undefined);
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "", url = "", headers, socket } = request;
      const body = Buffer.concat(chunks).toString("utf8");
      const one = { method, url, headers, body, clientPort: socket.remotePort ?? 0 };
      received.push(one);
      listener(one, response);
    });
  };
  const server = tls === undefined ? createServer(listen) : createSecureServer(tls, listen);
  const port = await started(server);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port, url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`, received };
}

/** Starts a server of bytes. */
export async function startTcp(connected: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    connected(socket);
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return await started(server);
}

async function started(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

/** A port on which nothing listens. */
export async function closedPort(): Promise<number> {
  const server = createTcpServer();
  const port = await started(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}
