/** /v1/stream: what happens, as it happens, as server-sent events. */
import { createRoute, z } from "@hono/zod-openapi";
import { digestOf, tokenOf } from "../auth.ts";
import { type Message, messagesOf, timeOf } from "../stream/group.ts";
import { glance } from "../stream/watch.ts";
import { type Api, problems, serve, several, tenantParameter } from "./api.ts";
import { Type } from "./schemas/basic.ts";

const query = z.strictObject({
  ...tenantParameter,
  type: several(Type),
  subject: z.string().optional(),
});

const description = `\`changed\`: how many jobs of the filter are queued and running now, and how many finished since; at most four a second, and only
when something changed. \`finished\`: a job that ended, without payload and result. \`end\`: the token is no longer valid. The id of
an event is a cursor: a client that was cut off sends it as Last-Event-ID and is told what ended meanwhile, the last two seconds
again, so clients should ignore a job they know.`;

export function streamRoutes(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/stream",
    operationId: "stream",
    summary: "Follow what happens",
    description,
    tags: ["Stream"],
    request: {
      query,
      headers: z.object({ "last-event-id": z.string().max(200).optional() }),
    },
    responses: {
      200: { description: "Server-sent events", content: { "text/event-stream": { schema: z.string() } } },
      ...problems,
    },
  });
  serve(api, route, async (c) => {
    const filter = c.req.valid("query");
    const since = timeOf(c.req.valid("header")["last-event-id"]);
    const { services } = api;
    const { headers } = c.req.raw;
    const look = (from: string | undefined, as = services.asToken(headers)): ReturnType<typeof glance> =>
      as((session) => glance(session, services.settings.apiSchema, filter, from));
    const ask = (): ReturnType<typeof glance> => look(since, (work) => services.as(c, work));
    // GET answers HEAD, too, and nobody would ever end the body that is dropped then.
    if (c.req.method === "HEAD") {
      await ask();
      return new Response(null, { headers: eventHeaders });
    }
    const caller = digestOf(tokenOf(headers) ?? "");
    const stream = new EventStream();
    const membership = services.streams.join(
      caller,
      `${caller} ${JSON.stringify(filter)}`,
      (from) => look(from),
      stream.send,
    );
    try {
      // The first look is the request's own: who may not look is told by the answer's status.
      const first = await ask();
      membership.begin(first);
      return stream.respond(
        messagesOf(first, first.ended),
        [services.closing, c.req.raw.signal],
        membership.leave,
      );
    } catch (error) {
      membership.leave();
      throw error;
    }
  });
}

/** Messages that may wait for a client before it is cut off: it comes back with its cursor. */
const MAX_WAITING = 2000;
const HEARTBEAT_MS = 15_000;

const eventHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  // Or a proxy would keep events back until there are many.
  "x-accel-buffering": "no",
};

/** One client's stream. What comes before it has begun is kept. */
class EventStream {
  readonly #early: Message[] = [];
  readonly #encoder = new TextEncoder();
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #end: () => void = () => undefined;

  readonly send = (messages: readonly Message[]): void => {
    if (this.#controller === undefined) {
      this.#early.push(...messages);
      return;
    }
    for (const message of messages) this.#write(textOf(message));
    if (messages.some(({ event }) => event === "end")) this.#end();
  };

  respond(first: readonly Message[], ends: readonly AbortSignal[], leave: () => void): Response {
    const heartbeat = setInterval(() => this.#write(": here\n\n"), HEARTBEAT_MS);
    const over = (): void => this.#end();
    let ended = false;
    const cleanUp = (): void => {
      clearInterval(heartbeat);
      for (const signal of ends) signal.removeEventListener("abort", over);
      leave();
    };
    this.#end = () => {
      if (ended) return;
      ended = true;
      cleanUp();
      this.#controller?.close();
    };
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
          this.#write("retry: 2000\n\n");
          this.send([...first, ...this.#early]);
        },
        cancel: () => {
          ended = true;
          cleanUp();
        },
      },
      { highWaterMark: MAX_WAITING },
    );
    for (const signal of ends) signal.addEventListener("abort", over);
    if (ends.some(({ aborted }) => aborted)) over();
    return new Response(body, { headers: eventHeaders });
  }

  #write(text: string): void {
    if ((this.#controller?.desiredSize ?? 0) <= 0) this.#end();
    else this.#controller?.enqueue(this.#encoder.encode(text));
  }
}

function textOf({ event, id, data }: Message): string {
  return `event: ${event}\n${id === "" ? "" : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
}
