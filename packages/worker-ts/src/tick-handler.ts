/**
 * A Fetch API handler for `/api/jobs/tick`, for platforms without long-running processes. A cron job calls it by POST
 * or GET; it runs the jobs that are due and responds `{ ok: true }` with the number of runs by how they ended. The
 * caller must send the secret.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { Transport } from "@jobforge/sdk-ts";
import { defaultRemoteTickLimit } from "./defaults.ts";
import { requireSecret, requireTickLimit, requireTickOptions } from "./option-checks.ts";
import type { WorkerOptions } from "./options.ts";
import { createWorker } from "./worker.ts";

export interface TickHandlerOptions extends WorkerOptions {
  readonly forge: { readonly transport: Transport };
  /**
   * The secret that callers must send, as `Authorization: Bearer …` or in the header `x-jobforge-secret`. Default: the
   * environment variable `JOBFORGE_TICK_SECRET`, or else `CRON_SECRET`, which Vercel Cron sends.
   */
  readonly secret?: string | undefined;
  /** The number of jobs per call, at most. Default 20. */
  readonly limit?: number | undefined;
}

/** Cron services of platforms call by GET. The secret is in a header, so no link can run jobs. */
const methods: readonly string[] = ["GET", "POST"];

export type TickHandler = (request: Request) => Promise<Response>;

/** Throws an InvalidArgumentError if an option is invalid, or if there is no secret. */
export function createTickHandler(options: TickHandlerOptions): TickHandler {
  requireTickOptions(options);
  const {
    forge,
    secret = process.env["JOBFORGE_TICK_SECRET"] ?? process.env["CRON_SECRET"],
    limit = defaultRemoteTickLimit,
    ...workerOptions
  } = options;
  const expected = digest(requireSecret(secret));
  // An invalid option throws here and not at the first request.
  requireTickLimit(limit);
  createWorker(forge, workerOptions);
  return async (request) => {
    if (!methods.includes(request.method))
      return respond(405, { ok: false, error: "Use POST or GET" }, { allow: methods.join(", ") });
    if (!timingSafeEqual(digest(secretOf(request)), expected)) {
      return respond(
        401,
        { ok: false, error: "The secret is missing or wrong" },
        { "www-authenticate": "Bearer" },
      );
    }
    try {
      // Each request has its own worker: requests may overlap, and each worker needs a name of its own.
      const summary = await createWorker(forge, workerOptions).tick({ limit });
      return respond(200, { ok: true, ...summary });
    } catch {
      return respond(503, { ok: false, error: "The jobs could not be run" });
    }
  };
}

function secretOf(request: Request): string {
  const [, token] = /^Bearer +(.+)$/i.exec(request.headers.get("authorization") ?? "") ?? [];
  return token ?? request.headers.get("x-jobforge-secret") ?? "";
}

/** Digests have the same length, so comparing them takes the same time for every guess. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function respond(status: number, body: object, headers: Record<string, string> = {}): Response {
  return Response.json(body, { status, headers: { "cache-control": "no-store", ...headers } });
}
