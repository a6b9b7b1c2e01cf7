/** /v1/ui: what a dashboard shows before anyone has signed in. */
import { createRoute } from "@hono/zod-openapi";
import type { Settings } from "../options.ts";
import { serverVersion } from "../version.ts";
import { type Api, json, problem, respond, serve } from "./api.ts";
import { Ui } from "./schemas/ui.ts";

/** The path needs no token. */
export const uiPath = "/v1/ui";

export function uiRoutes(api: Api): void {
  const route = createRoute({
    method: "get",
    path: uiPath,
    operationId: "getUi",
    summary: "Show how the dashboard is labelled",
    tags: ["Session"],
    security: [],
    responses: {
      200: json(Ui, "The labels. They need no token"),
      429: problem("Too many requests of this address"),
    },
  });
  const text = uiText(api.services.settings);
  serve(api, route, async () => respond(text));
}

/** The labels as JSON. They are part of the dashboard's pages, too, so that no page needs to ask for them. */
export function uiText({ dashboard = {}, localToken, anonymousRole }: Settings): string {
  const { title = "JobForge", environment = null, color = null, traceUrl = null } = dashboard || {};
  return JSON.stringify({
    title,
    environment,
    color,
    trace_url: traceUrl,
    version: serverVersion,
    // A page of `jobforge dev` has a cookie, or needs none, so it asks for no token.
    signs_in: localToken === undefined && anonymousRole === undefined,
  });
}
