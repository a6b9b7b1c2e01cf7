/** The REST API: all resources, the document that describes them, and the errors for requests that do not match it. */
import { createHash } from "node:crypto";
import { OpenAPIHono } from "@hono/zod-openapi";
import type { Context } from "hono";
import { RequestError } from "../errors.ts";
import { isKnown } from "../etag.ts";
import type { Environment, Services } from "../services.ts";
import type { Api } from "./api.ts";
import { artifactRoutes } from "./artifacts.ts";
import { attentionRoutes } from "./attention.ts";
import { auditRoutes } from "./audit.ts";
import { bulkRoutes } from "./bulk.ts";
import { deadRoutes } from "./dead.ts";
import { gateRoutes } from "./gates.ts";
import { jobRoutes } from "./jobs.ts";
import { limitRoutes } from "./limits.ts";
import { liveRoutes } from "./live.ts";
import { policyRoutes } from "./policies.ts";
import { scheduleRoutes } from "./schedules.ts";
import { seriesRoutes } from "./series.ts";
import { sessionPath, sessionRoutes } from "./session.ts";
import { statsRoutes } from "./stats.ts";
import { streamRoutes } from "./stream.ts";
import { tenantRoutes } from "./tenants.ts";
import { tokenRoutes } from "./tokens.ts";
import { typeRoutes } from "./types.ts";
import { uiPath, uiRoutes } from "./ui.ts";
import { usageRoutes } from "./usage.ts";
import { waitingRoutes } from "./waiting.ts";
import { webhookRoutes } from "./webhooks.ts";
import { workerRoutes } from "./workers.ts";
import { workflowRoutes } from "./workflows.ts";

/** In the order of the document. */
const resources = [
  jobRoutes,
  bulkRoutes,
  deadRoutes,
  artifactRoutes,
  scheduleRoutes,
  workflowRoutes,
  webhookRoutes,
  typeRoutes,
  policyRoutes,
  gateRoutes,
  limitRoutes,
  tenantRoutes,
  workerRoutes,
  auditRoutes,
  attentionRoutes,
  statsRoutes,
  seriesRoutes,
  waitingRoutes,
  liveRoutes,
  usageRoutes,
  streamRoutes,
  tokenRoutes,
  sessionRoutes,
  uiRoutes,
];

const documentPath = "/v1/openapi.json";

/** The paths that need no token. */
export const openPaths: readonly string[] = [documentPath, sessionPath, uiPath];

export function v1Routes(services: Services): OpenAPIHono<Environment> {
  const app = new OpenAPIHono<Environment>({
    defaultHook: (result) => {
      if (!result.success) throw invalid(result.error.issues);
    },
  });
  const api: Api = { app, services };
  for (const register of resources) register(api);
  app.openAPIRegistry.registerComponent("securitySchemes", "bearer", {
    type: "http",
    scheme: "bearer",
    description: "A JWT, or a key created with `POST /v1/tokens`",
  });
  app.get(documentPath, documentHandler(app));
  refuseOtherMethods(app);
  return app;
}

const document = {
  openapi: "3.1.0",
  info: {
    title: "JobForge",
    version: "1",
    description: "Background jobs that live in Postgres. Times are RFC 3339; errors are RFC 9457 problems.",
    license: { name: "MIT", identifier: "MIT" },
  },
  servers: [{ url: "/" }],
  security: [{ bearer: [] }],
};

/** Serves the document. It is made once, at the first request, because making it costs much more than sending it. */
function documentHandler(app: OpenAPIHono<Environment>): (c: Context<Environment>) => Response {
  let made: { readonly text: string; readonly etag: string } | undefined;
  const make = (): { readonly text: string; readonly etag: string } => {
    const text = JSON.stringify(app.getOpenAPI31Document(document));
    return { text, etag: `"${createHash("sha256").update(text).digest("base64url")}"` };
  };
  return (c) => {
    made ??= make();
    const headers = { etag: made.etag, "cache-control": "no-cache" };
    if (isKnown(c.req.header("if-none-match"), made.etag)) return c.body(null, 304, headers);
    return c.body(made.text, 200, { ...headers, "content-type": "application/json" });
  };
}

interface Issue {
  readonly code: string;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly keys?: readonly string[];
}

function invalid(issues: readonly Issue[]): RequestError {
  const [issue] = issues;
  const field = [...(issue?.path ?? []), ...(issue?.keys?.slice(0, 1) ?? [])].map(String).join(".");
  const message = `Invalid argument: ${field === "" ? "" : `${field}: `}${issue?.message ?? "malformed"}`;
  return new RequestError(400, "JF002", message, {
    name: "invalid_argument",
    ...(field === "" ? {} : { field }),
    hint: `See the document at ${documentPath} for what is allowed.`,
  });
}

/** Makes every existing path refuse other methods with 405 and an Allow header. */
function refuseOtherMethods(app: OpenAPIHono<Environment>): void {
  const allowed = new Map<string, Set<string>>();
  for (const { path, method } of app.routes) {
    if (method === "ALL") continue;
    const methods = allowed.get(path) ?? new Set();
    allowed.set(path, methods.add(method));
  }
  for (const [path, methods] of allowed) {
    const allow = [...methods].join(", ");
    app.all(path, (c) => {
      throw new RequestError(405, "PGRST117", `${c.req.method} is not allowed for ${c.req.path}`, {
        headers: { allow },
      });
    });
  }
}
