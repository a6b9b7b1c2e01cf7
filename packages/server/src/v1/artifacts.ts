/** /v1/artifacts: large contents that jobs refer to, such as reports. They come from the store of the server. */
import { Readable } from "node:stream";
import { createRoute, z } from "@hono/zod-openapi";
import { type ArtifactStore, artifactRef } from "@jobforge/sdk-ts";
import type { ApiSession } from "../calls.ts";
import { RequestError } from "../errors.ts";
import { type Api, body, notFound, problem, problems, respond, responses, serve } from "./api.ts";
import { Id } from "./schemas/basic.ts";
import { TenantQuery } from "./schemas/parameters.ts";

const ArtifactParameters = z.object({
  area: z
    .string()
    .regex(/^[a-z]{1,32}$/)
    .openapi({ description: "What it is: `reports`, `http`, `results` or `payloads`" }),
  id: Id,
  name: z.string().regex(/^(?!\.+$)[A-Za-z0-9._-]{1,128}$/),
});

const Stored = z.object({ ref: z.string(), bytes: z.number().int(), sha256: z.string() });

/**
 * A document of a job must not act in the name of the page that links to it: it is downloaded, never shown, and has no
 * origin, no scripts and no requests if a browser shows it anyway.
 */
const sandbox = {
  "content-security-policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:",
  "x-content-type-options": "nosniff",
  "cache-control": "private, no-store",
};

const types: Readonly<Record<string, string>> = {
  csv: "text/csv; charset=utf-8",
  html: "text/html; charset=utf-8",
  json: "application/json",
};

export function artifactRoutes(api: Api): void {
  storePayload(api);
  const route = createRoute({
    method: "get",
    path: "/v1/artifacts/{area}/{id}/{name}",
    operationId: "getArtifact",
    summary: "Download an artifact",
    description:
      "The reference `artifact:reports/TENANT/JOB/NAME` is `/v1/artifacts/reports/JOB/NAME`. The caller must be " +
      "allowed to read the job.",
    tags: ["Artifacts"],
    request: { params: ArtifactParameters, query: TenantQuery },
    responses: {
      200: {
        description: "The content, as an attachment",
        content: { "*/*": { schema: z.string().openapi({ format: "binary" }) } },
      },
      ...problems,
      404: problem("The tenant has no such artifact, or the server has no store"),
    },
  });
  serve(api, route, async (c) => {
    const { area, id, name } = c.req.valid("param");
    const { tenant_id } = c.req.valid("query");
    const tenantId = await api.services.as(c, (session) => ownerOf(session, area, id, tenant_id));
    const ref = artifactRef({ area, tenantId, id: id.toLowerCase(), name });
    const content = await open(api.services.settings.artifacts, ref);
    const headers = {
      ...sandbox,
      "content-type": types[name.split(".").at(-1) ?? ""] ?? "application/octet-stream",
      "content-disposition": `attachment; filename="${name}"`,
    };
    // Hono serves HEAD with GET routes and drops the body, which would stay open.
    if (c.req.method === "HEAD") {
      content.destroy();
      return new Response(null, { headers });
    }
    return new Response(Readable.toWeb(content) as ReadableStream, { headers });
  });
}

/** Clients without a store send large payloads here. Their jobs then refer to them. */
function storePayload(api: Api): void {
  const route = createRoute({
    method: "post",
    path: "/v1/artifacts/payloads",
    operationId: "storePayload",
    summary: "Store a large payload",
    description:
      "Stores the payload of a job that is enqueued next, with the payload " +
      '`{"$artifact": ref, "bytes", "sha256"}`, through `POST /v1/bulk/enqueue`. Without such a job it is deleted ' +
      "after a day.",
    tags: ["Artifacts"],
    request: { query: TenantQuery, body: body(z.unknown().openapi({ description: "The payload" })) },
    responses: {
      ...responses(Stored, "The payload is stored"),
      404: problem("The server has no store"),
    },
  });
  serve(api, route, async (c) => {
    const { tenant_id } = c.req.valid("query");
    const content = Buffer.from(await c.req.arrayBuffer());
    // Whether the server has a store concerns only callers that may use it. Without one, the note is rolled back.
    const { noted, store } = await api.services.as(c, async (session) => ({
      noted: await session.value("jobforge_note_artifact", {
        p_tenant_id: session.tenant(tenant_id),
        p_area: "payloads",
      }),
      store: required(api.services.settings.artifacts),
    }));
    const { tenant_id: tenantId, id } = JSON.parse(noted ?? "") as { tenant_id: string; id: string };
    const chunks = (async function* () {
      yield content;
    })();
    const key = `payloads/${tenantId}/${id}/payload.json`;
    return respond(JSON.stringify(await store.put(key, chunks, { contentType: "application/json" })));
  });
}

/** The tenant whose artifact it is. The kernel decides whether the caller may read the job, or the tenant's jobs. */
async function ownerOf(
  session: ApiSession,
  area: string,
  id: string,
  named: string | undefined,
): Promise<string> {
  const tenantId = session.tenant(named);
  // A payload is stored before its job has an id.
  const { count } =
    area === "payloads"
      ? await session.rows("jobforge_list_jobs", { p_tenant_id: tenantId, p_filters: { limit: 1 } })
      : await session.rows("jobforge_get_job", { p_job_id: id, p_tenant_id: tenantId });
  if (tenantId === null || count === 0) throw notFound("artifact");
  return tenantId.toLowerCase();
}

function required(store: ArtifactStore | undefined): ArtifactStore {
  if (store !== undefined) return store;
  throw new RequestError(404, "PGRST116", "This server has no artifact store", {
    name: "no_artifact_store",
    hint: "Set JOBFORGE_ARTIFACTS, or pass the option artifacts.",
  });
}

async function open(store: ArtifactStore | undefined, ref: string): Promise<Readable> {
  try {
    return Readable.from(await required(store).get(ref), { objectMode: false });
  } catch (error) {
    if ((error as { code?: unknown }).code === "artifact_unavailable") throw notFound("artifact");
    throw error;
  }
}
