/** /v1/stream: live counts and finished jobs, as server-sent events. */
import { createRoute, z } from "@hono/zod-openapi";
import { presentedToken } from "../auth.ts";
import { digestOf, identityOf } from "../identity.ts";
import { EventStream, eventHeaders } from "../stream/event-stream.ts";
import { messagesOf, newsOf, timeOf } from "../stream/group.ts";
import { readSnapshot, type Snapshot } from "../stream/snapshot.ts";
import { type Api, problems, serve } from "./api.ts";
import { StreamHeaders, StreamQuery } from "./schemas/stream.ts";

const description = `\`changed\`: how many jobs that match the filter are due (\`queued\`), \`scheduled\` for later and running now, and
how many finished since the last event. Large counts are estimates; then \`exact\` is false. Readers receive counts only. Sent at most four times a second, and only when something changed. \`finished\`: a job that
finished, without payload and result. \`workflow\`: a workflow that ended, without input and output; not with a filter by type. \`changes\`, with \`changes=true\`: \`kinds\` of things that were changed, such as
gate, limit, type, schedule, tenant or worker, so that a page that shows them can be read again. \`end\`: the token is no longer valid. The id of an event is a cursor. A client that
was disconnected sends it as Last-Event-ID and receives the jobs that finished in the meantime. The last two seconds
before the cursor are sent again, so clients should ignore a job that they already know.`;

export function streamRoutes(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/stream",
    operationId: "stream",
    summary: "Follow live counts and finished jobs",
    description,
    tags: ["Stream"],
    request: { query: StreamQuery, headers: StreamHeaders },
    responses: {
      200: { description: "Server-sent events", content: { "text/event-stream": { schema: z.string() } } },
      ...problems,
    },
  });
  serve(api, route, async (c) => {
    const filter = c.req.valid("query");
    const since = timeOf(c.req.valid("header")["last-event-id"]);
    const { services } = api;
    const { method, headers } = c.req.raw;
    const readSince = (
      from: string | undefined,
      as = services.asCallerOf({ method, headers }),
    ): Promise<Snapshot> => as((session) => readSnapshot(session, services.settings.apiSchema, filter, from));
    const readFirst = (): Promise<Snapshot> => readSince(since, (work) => services.as(c, work));
    // Hono serves HEAD with GET routes and drops the body. A stream would then never end.
    if (c.req.method === "HEAD") {
      await readFirst();
      return new Response(null, { headers: eventHeaders });
    }
    const stream = new EventStream();
    const caller = identityOf(await services.admit(c));
    const membership = services.streams.join(
      caller,
      // By token, too: all members of a group end when the token of the first one expires.
      `${caller} ${digestOf(presentedToken(headers) ?? "")} ${JSON.stringify(filter)}`,
      (from) => readSince(from),
      stream.send,
    );
    try {
      // The first read belongs to the request itself, so that a caller without permission gets an error status.
      const first = await readFirst();
      membership.begin(first);
      return stream.respond(
        messagesOf(first, first.finished, newsOf(first.changes)),
        [services.closing, c.req.raw.signal],
        membership.leave,
      );
    } catch (error) {
      membership.leave();
      throw error;
    }
  });
}
