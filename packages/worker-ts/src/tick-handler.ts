/**
 * A Fetch-API handler for `POST /api/jobs/tick`, for places without a process of their own: a cron calls it, it runs what is due and
 * answers `{ ok: true }`. Whoever calls must know the secret.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { Transport } from "@jobforge/sdk-ts";
import { requireTickLimit, type WorkerOptions } from "./options.ts";
import { createWorker } from "./worker.ts";

export interface TickHandlerOptions extends WorkerOptions {
  readonly forge: { readonly transport: Transport };
  /** What callers must send, as `Authorization: Bearer …` or in the header `x-jobforge-secret`. Default: `JOBFORGE_TICK_SECRET`. */
  readonly secret?: string | undefined;
  /** Jobs per call, at most. Default 20. */
  readonly limit?: number | undefined;
}

export type TickHandler = (request: Request) => Promise<Response>;

/** Fails without a secret: an open endpoint would let anybody run jobs. */
export function createTickHandler(options: TickHandlerOptions): TickHandler {
  const { forge, secret = process.env["JOBFORGE_TICK_SECRET"], limit = 20, ...workerOptions } = options;
  if (typeof secret !== "string" || secret === "") {
    throw new TypeError("secret must be set: pass it, or set the environment variable JOBFORGE_TICK_SECRET");
  }
  const expected = digest(secret);
  // Fails now, and not with the first request, when an option is wrong.
  requireTickLimit(limit);
  createWorker(forge, workerOptions);
  return async (request) => {
    if (request.method !== "POST") return answer(405, { ok: false, error: "Use POST" }, { allow: "POST" });
    if (!timingSafeEqual(digest(secretOf(request)), expected)) {
      return answer(
        401,
        { ok: false, error: "The secret is missing or wrong" },
        { "www-authenticate": "Bearer" },
      );
    }
    try {
      // A worker for each request: requests may overlap, and a worker's name must be its own.
      await createWorker(forge, workerOptions).tick({ limit });
      return answer(200, { ok: true });
    } catch {
      return answer(503, { ok: false, error: "The jobs could not be run" });
    }
  };
}

function secretOf(request: Request): string {
  const [, token] = /^Bearer +(.+)$/i.exec(request.headers.get("authorization") ?? "") ?? [];
  return token ?? request.headers.get("x-jobforge-secret") ?? "";
}

/** Of one length whatever the text's, so that comparing takes the same time for every guess. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function answer(status: number, body: object, headers: Record<string, string> = {}): Response {
  return Response.json(body, { status, headers: { "cache-control": "no-store", ...headers } });
}
