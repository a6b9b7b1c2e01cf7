import { createServer } from "node:http";

/** Starts a web server that serves one document, such as a set of keys. */
export async function serveJson(document: unknown): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((_, response) =>
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document)),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
