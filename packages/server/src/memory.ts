/** Bounds the memory of requests and responses: bodies of requests, and unread responses. */
import type { ServerResponse } from "node:http";
import type { Context, MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { RequestError } from "./errors.ts";
import type { Environment, Services } from "./services.ts";

/**
 * How long a response may make no progress before its connection is closed. A live stream sends something every 15
 * seconds.
 */
const defaultStallMs = 60_000;

/** The largest body of a sign-in, which anyone may send. */
const maxSignInBytes = 16 * 1024;

/** Limits the body of a sign-in. It holds the token, so it is read before the caller is known. */
export const boundSignIn: MiddlewareHandler<Environment> = bodyLimit({
  maxSize: maxSignInBytes,
  onError: () => refuseBody(maxSignInBytes),
});

/**
 * Limits the memory of a request. Its body counts for its caller until the response is made, and its answer until the
 * client has received it. Without a token, no route reads a body, except the sign-in.
 */
export function boundMemory(services: Services): MiddlewareHandler<Environment> {
  const { maxBodyBytes } = services.settings;
  const limitBody = bodyLimit({ maxSize: maxBodyBytes, onError: () => refuseBody(maxBodyBytes) });
  return async (c, next) => {
    const caller = services.callerOf(c);
    if (caller === undefined) await next();
    else {
      const giveBack = services.bodies.take(caller, bodyBytes(c, maxBodyBytes));
      try {
        await limitBody(c, next);
      } finally {
        giveBack();
      }
    }
    // Without a connection, the server is mounted in another application, which sends the response.
    if (c.env?.outgoing !== undefined)
      watchAnswer(c.env.outgoing, (bytes) => {
        // Some routes admit the request themselves, and a key is known only when its request has run.
        const receiver = services.callerOf(c);
        return receiver === undefined ? () => undefined : services.answers.charge(receiver, bytes);
      });
  };
}

function refuseBody(maxBytes: number): never {
  throw new RequestError(413, "PGRST413", `The request is larger than ${maxBytes} bytes`, {
    name: "payload_too_large",
    hint: "Send fewer jobs at once, or store the data elsewhere and pass a reference.",
  });
}

/** The bytes that the body of a request may have. A body of unknown length may be as long as is allowed. */
function bodyBytes({ req }: Context<Environment>, maxBytes: number): number {
  const { headers } = req.raw;
  const length = headers.get("content-length");
  if (length !== null && !headers.has("transfer-encoding")) return Math.min(Number(length), maxBytes);
  return req.raw.body === null ? 0 : maxBytes;
}

/**
 * Charges what the client has not received of a response, until the response is sent or its connection is closed.
 * Closes the connection if the client stops to read.
 */
export function watchAnswer(
  outgoing: ServerResponse,
  charge: (bytes: number) => () => void,
  stallMs: number = defaultStallMs,
): void {
  const { socket } = outgoing.req;
  // The adapter writes the response before the next turn of the event loop.
  setImmediate(() => {
    if (outgoing.writableFinished || socket.destroyed) return;
    const giveBack = charge(outgoing.writableLength);
    const end = (): void => {
      outgoing.off("close", end);
      socket.off("close", end);
      giveBack();
    };
    outgoing.once("close", end);
    // A response that waits for an earlier one of its connection gets no event when the connection is closed.
    socket.setMaxListeners(0).once("close", end);
    outgoing.setTimeout(stallMs, () => socket.destroy());
  });
}
