/** How the dashboard is labelled. */
import { z } from "@hono/zod-openapi";

export const Ui = z
  .looseObject({
    title: z.string(),
    environment: z.string().nullable().openapi({ example: "production" }),
    color: z.string().nullable().openapi({ example: "#b91c1c" }),
    trace_url: z.string().nullable().openapi({
      description: "The address of a trace. `{trace_id}` stands for its id",
      example: "https://traces.example.com/{trace_id}",
    }),
    version: z.string(),
    signs_in: z.boolean().openapi({
      description: "Whether a caller needs a token. False for `jobforge dev`, whose page has one",
    }),
  })
  .openapi("Ui");
