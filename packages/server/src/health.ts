/** Whether the process lives, and whether it can work. */
import { Hono } from "hono";
import { clientRoles } from "./options.ts";
import type { Environment, Services } from "./services.ts";

export function healthRoutes(services: Services): Hono<Environment> {
  const app = new Hono<Environment>();
  app.get("/healthz", (c) => c.json({ ok: true }));
  app.get("/readyz", async (c) => {
    const reason = await inTime(obstacle(services));
    return reason === undefined ? c.json({ ok: true }) : c.json({ ok: false, reason }, 503);
  });
  return app;
}

/** Whoever asks gives up soon, and must be told before: also while no connection can be had. */
const LIMIT_MS = 2000;

async function inTime(answer: Promise<string | undefined>): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve("the database does not answer"), LIMIT_MS);
  });
  const first = await Promise.race([answer, late]);
  clearTimeout(timer);
  return first;
}

/** What keeps the server from working; nothing when it can. Not ready while it shuts down, so that no new requests are sent here. */
async function obstacle({ database, closing }: Services): Promise<string | undefined> {
  if (closing.aborted) return "shutting down";
  try {
    const [row] = await database.query<{ installed: boolean; missing: string[] }>(
      `select to_regnamespace('jobforge') is not null as installed,
         array(select r from unnest($1::text[]) r
           where to_regrole(r) is null or not pg_has_role(session_user, r, 'MEMBER')) as missing`,
      [clientRoles],
      LIMIT_MS,
    );
    if (row?.installed !== true) return "JobForge is not installed in this database: run `jobforge migrate`";
    if (row.missing.length > 0) return `the server's login is not a member of ${row.missing.join(", ")}`;
    return undefined;
  } catch {
    return "the database cannot be reached";
  }
}
