/** Whether the process lives, and whether it can work. */
import { Hono } from "hono";
import type { Environment, Services } from "./services.ts";

export function healthRoutes({ database, closing }: Services): Hono<Environment> {
  const app = new Hono<Environment>();
  app.get("/healthz", (c) => c.json({ ok: true }));
  // Not ready while it shuts down, so that no new requests are sent here.
  app.get("/readyz", async (c) => {
    if (closing.aborted) return c.json({ ok: false, reason: "shutting down" }, 503);
    try {
      const [row] = await database.query<{ installed: boolean }>(
        "select to_regnamespace('jobforge') is not null as installed",
      );
      return row?.installed === true
        ? c.json({ ok: true })
        : c.json(
            { ok: false, reason: "JobForge is not installed in this database: run `jobforge migrate`" },
            503,
          );
    } catch {
      return c.json({ ok: false, reason: "the database cannot be reached" }, 503);
    }
  });
  return app;
}
