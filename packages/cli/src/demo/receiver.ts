/** What Acme's customers run to receive webhooks: one receiver that works, and one that is down. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { JobForge, WebhookEndpoint } from "@jobforge/sdk-ts";

export interface Receivers extends AsyncDisposable {
  /** Tells the endpoints of a tenant where the receivers are now, and creates them at the first start. */
  announce(forge: JobForge, tenantId: string): Promise<void>;
}

const endpoints = [
  { path: "/shop", description: "The web shop", events: ["order.*", "invoice.*"] },
  { path: "/crm", description: "The customer database", events: ["invoice.*"] },
] as const;

/** Listens on this machine only. */
export async function openReceivers(): Promise<Receivers> {
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => response.writeHead(request.url === "/crm" ? 503 : 204).end());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    announce: async (forge, tenantId) => {
      const known = await forge.webhooks.list(tenantId);
      for (const { path, description, events } of endpoints)
        await setEndpoint(forge, tenantId, known, {
          url: `http://127.0.0.1:${port}${path}`,
          description,
          events: [...events],
        });
    },
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

interface Endpoint {
  readonly url: string;
  readonly description: string;
  readonly events: string[];
}

async function setEndpoint(
  forge: JobForge,
  tenantId: string,
  known: readonly WebhookEndpoint[],
  endpoint: Endpoint,
): Promise<void> {
  const found = known.find(({ description }) => description === endpoint.description);
  if (found === undefined) await forge.webhooks.create(tenantId, endpoint);
  else await forge.webhooks.update({ tenantId, id: found.id }, { url: endpoint.url });
}
