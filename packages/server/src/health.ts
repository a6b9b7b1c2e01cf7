/** /healthz shows whether the process is alive, /readyz whether it can serve requests. */

import { clientRoles } from "@jobforge/sdk-ts";
import { Hono } from "hono";
import type { Environment, Services } from "./services.ts";

export function healthRoutes(services: Services): Hono<Environment> {
  const app = new Hono<Environment>();
  app.get("/healthz", (c) => c.json({ ok: true }));
  // Anyone may send this request, and it costs a query. So all requests at one time share one.
  let checking: Promise<string | undefined> | undefined;
  const check = (): Promise<string | undefined> => {
    checking ??= obstacle(services).finally(() => {
      checking = undefined;
    });
    return checking;
  };
  app.get("/readyz", async (c) => {
    const reason = services.closing.aborted ? shuttingDown : await inTime(check());
    return reason === undefined ? c.json({ ok: true }) : c.json({ ok: false, reason }, 503);
  });
  return app;
}

/** A server that is shutting down is not ready, so that no new requests are routed to it. */
const shuttingDown = "shutting down";

/** A probe times out soon, so the response must come earlier, even while no connection is free. */
const limitMs = 2000;

async function inTime(reason: Promise<string | undefined>): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve("the database does not respond"), limitMs);
  });
  const first = await Promise.race([reason, late]);
  clearTimeout(timer);
  return first;
}

/** The reason why the server cannot serve requests. Undefined if it can. */
async function obstacle({ database }: Services): Promise<string | undefined> {
  try {
    const [row] = await database.query<{ installed: boolean; missing: string[] }>(
      `select to_regnamespace('jobforge') is not null as installed,
         array(select r from unnest($1::text[]) r
           where to_regrole(r) is null or not pg_has_role(session_user, r, 'MEMBER')) as missing`,
      [clientRoles],
      limitMs,
    );
    if (row?.installed !== true) return "JobForge is not installed in this database: run `jobforge migrate`";
    if (row.missing.length > 0) return `the server's login is not a member of ${row.missing.join(", ")}`;
    return undefined;
  } catch {
    return "the database cannot be reached";
  }
}
