/**
 * Assembles the routes, and adds what all of them share: traces, the access log, security headers, limits and errors.
 */
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import { secureHeaders } from "hono/secure-headers";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { getPath } from "hono/utils/url";
import type { Logger } from "pino";
import { isSecure } from "./address.ts";
import { slashAddress, stripBasePath } from "./base-path.ts";
import { compressJson } from "./compression.ts";
import { readDashboard } from "./dashboard/folder.ts";
import { type Dashboard, serveDashboard } from "./dashboard/routes.ts";
import { failureOf, problemOf, problemStatus, RequestError } from "./errors.ts";
import { healthRoutes } from "./health.ts";
import { accessLog, describeError } from "./log.ts";
import { boundMemory, boundSignIn } from "./memory.ts";
import { Metrics } from "./metrics/metrics.ts";
import { metricsRoutes } from "./metrics/routes.ts";
import type { Settings } from "./options.ts";
import { restRoutes } from "./rest/routes.ts";
import type { Environment, Services } from "./services.ts";
import { openPaths, v1Routes } from "./v1/routes.ts";
import { sessionPath } from "./v1/session.ts";

/** Response headers that pages of other origins may read, besides those that browsers always expose. */
const exposedHeaders = ["allow", "content-range", "location", "retry-after", "www-authenticate"];

/** How long a browser may cache the permission of an origin. */
const preflightSeconds = 600;

/** How long a browser uses TLS only, after a response that says so. */
const strictTransportSeconds = 180 * 24 * 3600;

export function buildApp(services: Services, logger: Logger): Hono<Environment> {
  const { settings } = services;
  const { basePath } = settings;
  const app = new Hono<Environment>({
    getPath: (request) => stripBasePath(getPath(request), basePath),
  });
  const metrics = new Metrics(services);
  app.use(accessLog(logger));
  app.use(metrics.middleware);
  app.use(
    secureHeaders({
      crossOriginResourcePolicy: settings.corsOrigins.length === 0 ? "same-origin" : "cross-origin",
      strictTransportSecurity: false,
    }),
  );
  app.use(strictTransport(settings));
  app.use("/rest/*", noStore);
  app.use("/v1/*", noStore);
  if (settings.corsOrigins.length > 0)
    app.use(
      cors({ origin: [...settings.corsOrigins], exposeHeaders: exposedHeaders, maxAge: preflightSeconds }),
    );
  app.use(redirectToSlash(basePath));
  const admit = admission(services);
  app.use("/rest/*", admit);
  app.use("/v1/*", admit);
  app.use(sessionPath, boundSignIn);
  app.use(boundMemory(services));
  app.use("/v1/*", compressJson);
  app.route("/", healthRoutes(services));
  app.route("/", metricsRoutes(services, metrics));
  app.route("/rest/v1", restRoutes(services));
  app.route("/", v1Routes(services));
  if (settings.tick !== undefined) {
    const { tick } = settings;
    app.all("/api/jobs/tick", async (c) => {
      const response = await tick(c.req.raw);
      if (response.status === 401) services.admitOpen(c);
      return response;
    });
  }
  const dashboard = dashboardOf(services);
  if (dashboard !== undefined) app.route("/", dashboard.routes);
  app.notFound((c) => {
    const page = dashboard?.page(c);
    if (page !== undefined) return page;
    services.admitOpen(c);
    return respondError(c, new RequestError(404, "PGRST125", `There is nothing at ${c.req.path}`));
  });
  app.onError((error, c) => {
    const response = respondError(c, error);
    if (response.status === 500)
      logger.error(
        { error: describeError(error), trace_id: c.get("traceparent").slice(3, 35) },
        "Request failed",
      );
    return response;
  });
  return app;
}

/** Rejects a request without a valid token before any other part of it is read. */
function admission(services: Services): MiddlewareHandler<Environment> {
  return async (c, next) => {
    if (openPaths.includes(c.req.path)) services.admitOpen(c);
    else await services.admit(c);
    await next();
  };
}

/** The dashboard, unless the options refuse it. A checkout that was not built has none. */
function dashboardOf(services: Services): Dashboard | undefined {
  const { dashboard = {} } = services.settings;
  const folder = dashboard === false ? undefined : readDashboard(dashboard.folder);
  return folder === undefined ? undefined : serveDashboard(services, folder);
}

function redirectToSlash(basePath: string): MiddlewareHandler<Environment> {
  return async (c, next) => {
    const address = slashAddress(c.req.url, basePath);
    if (address === undefined) await next();
    else c.res = c.redirect(address, 308);
  };
}

async function noStore(c: Context<Environment>, next: () => Promise<void>): Promise<void> {
  await next();
  if (!c.res.headers.has("cache-control")) c.header("cache-control", "no-store");
}

/**
 * Tells browsers to use TLS only, where the client's connection is known to use it. Subdomains are not included: they
 * may belong to others.
 */
function strictTransport({ trustProxy }: Settings): MiddlewareHandler<Environment> {
  return async (c, next) => {
    await next();
    if (isSecure(c.req.url, c.req.raw.headers, trustProxy))
      c.header("strict-transport-security", `max-age=${strictTransportSeconds}`);
  };
}

/** Responds with PostgREST's error format under /rest, and with a problem elsewhere. */
function respondError(c: Context<Environment>, error: unknown): Response {
  const failed = failureOf(error);
  for (const [name, value] of Object.entries(failed.headers)) c.header(name, value);
  if (c.req.path.startsWith("/rest/")) return c.json(failed.failure, failed.status as ContentfulStatusCode);
  const status = problemStatus(failed) as ContentfulStatusCode;
  return c.body(JSON.stringify(problemOf(failed)), status, { "content-type": "application/problem+json" });
}
