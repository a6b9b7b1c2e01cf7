/** Whom the enqueue of a job asks to notify, and what endpoints share with it. */
import { z } from "@hono/zod-openapi";
import { notifyStatuses } from "@jobforge/sdk-ts";
import { Id } from "./basic.ts";

export const Url = z.string().max(8192).openapi({ example: "https://example.com/hooks" });
/** The name of a secret that the workers have. */
export const SecretName = z.strictObject({ $secret: z.string().regex(/^[A-Z][A-Z0-9_]{0,63}$/) });

/** Whom a webhook tells about the end of one job. */
export const Notify = z
  .strictObject({
    url: Url.optional(),
    secret: SecretName.optional(),
    endpoint_id: Id.optional(),
    on: z.array(z.enum(notifyStatuses)).min(1).optional(),
  })
  .openapi("Notify", { description: "One of `url` and `endpoint_id`" });
