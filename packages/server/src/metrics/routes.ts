/** /metrics for Prometheus. Open to readers, operators and scrapers with the secret. */
import { timingSafeEqual } from "node:crypto";
import { Hono } from "hono";
import { tokenOf } from "../auth.ts";
import { RequestError } from "../errors.ts";
import { digestOf } from "../identity.ts";
import type { Environment, Services } from "../services.ts";
import type { Metrics } from "./metrics.ts";

export function metricsRoutes(services: Services, metrics: Metrics): Hono<Environment> {
  const app = new Hono<Environment>();
  app.get("/metrics", async (c) => {
    if (!knowsSecret(services, c.req.raw.headers))
      await services.as(c, async ({ caller }) => requireReader(caller.role));
    const { text, contentType } = await metrics.read();
    return c.body(text, 200, { "content-type": contentType });
  });
  return app;
}

/** Compares digests, which have one length, so that the comparison takes the same time for every guess. */
function knowsSecret({ settings }: Services, headers: Headers): boolean {
  const secret = settings.metrics?.secret;
  if (secret === undefined || secret === "") return false;
  const given = tokenOf(headers) ?? "";
  return timingSafeEqual(Buffer.from(digestOf(given)), Buffer.from(digestOf(secret)));
}

function requireReader(role: string): void {
  if (role !== "jobforge_reader" && role !== "jobforge_operator")
    throw new RequestError(403, "42501", "Metrics cover all tenants, so this token may not read them", {
      name: "forbidden",
      hint: "Use a token with the role jobforge_reader or jobforge_operator.",
    });
}
