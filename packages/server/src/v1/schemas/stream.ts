/** The live stream. */
import { z } from "@hono/zod-openapi";
import { Type } from "./basic.ts";
import { several, tenantParameter } from "./parameters.ts";

export const StreamQuery = z.strictObject({
  ...tenantParameter,
  type: several(Type),
  subject: z.string().optional(),
  changes: z
    .enum(["true", "false"])
    .optional()
    .openapi({ description: "Whether to send `changes`: what else was changed" }),
});

export const StreamHeaders = z.object({ "last-event-id": z.string().max(200).optional() });
