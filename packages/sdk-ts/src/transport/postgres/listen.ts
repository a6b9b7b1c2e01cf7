/**
 * LISTEN on a connection of its own. A NOTIFY that must arrive proves that it works. The connection is checked
 * regularly and replaced when it is lost, with growing and jittered waits. Between `down` and `up`, notifications may
 * have been missed.
 */
import { randomBytes } from "node:crypto";
import { withDeadline } from "../../deadline.ts";
import { ConnectionError, type JobForgeError } from "../../errors.ts";
import { sleep } from "../../sleep.ts";
import { fromDriverError } from "../error-mapping.ts";
import type { ListenEvents, Listener } from "../transport.ts";
import type { PgListenClient } from "./pg.ts";

export interface ListenTiming {
  /** How often an idle connection is checked. */
  readonly checkEveryMs: number;
  /** How long the server may take to respond. */
  readonly respondWithinMs: number;
}

const usual: ListenTiming = { checkEveryMs: 60_000, respondWithinMs: 10_000 };
const longestWaitMs = 10_000;

type Connect = () => Promise<PgListenClient>;

export async function listen(
  another: Connect,
  channels: readonly string[],
  events: ListenEvents,
  timing: ListenTiming = usual,
): Promise<Listener> {
  const closing = new AbortController();
  let ended: Promise<void> = Promise.resolve();
  await new Promise<void>((tried) => {
    const once = (onUp: () => void): Promise<JobForgeError> =>
      listenOnce(another, channels, events, timing, closing.signal, onUp);
    ended = keepListening(once, events, closing.signal, tried);
  });
  return {
    close: async () => {
      closing.abort();
      await ended;
    },
  };
}

async function keepListening(
  listenOnce: (onUp: () => void) => Promise<JobForgeError>,
  events: ListenEvents,
  closing: AbortSignal,
  tried: () => void,
): Promise<void> {
  let failures = 0;
  while (!closing.aborted) {
    const error = await listenOnce(() => {
      failures = 0;
      events.onState?.("up");
      tried();
    });
    if (closing.aborted) break;
    // Only the first failure of an outage is reported.
    if (failures === 0) events.onState?.("down", error);
    tried();
    const longest = Math.min(longestWaitMs, 100 * 2 ** failures);
    failures += 1;
    await sleep(longest * (0.5 + Math.random() / 2), closing);
  }
  tried();
}

/** Uses one connection, from the attempt to connect until its loss. Returns why it was lost. */
async function listenOnce(
  another: Connect,
  channels: readonly string[],
  events: ListenEvents,
  { checkEveryMs, respondWithinMs }: ListenTiming,
  closing: AbortSignal,
  onUp: () => void,
): Promise<JobForgeError> {
  const client = await another();
  // The listener was closed while the client was made, so nothing would tell this connection to end.
  if (closing.aborted) return new ConnectionError("closed");
  const { signal: gone, lost } = lossOf(client, closing);
  const proof = `jobforge_proof_${randomBytes(8).toString("hex")}`;
  const proven = new Promise<void>((resolve) => {
    client.on("notification", ({ channel, payload = "" }) => {
      if (channel === proof) resolve();
      else events.onNotification(channel, payload);
    });
  });
  const inTime = <T>(what: string, work: Promise<T>): Promise<T> =>
    withDeadline(what, { timeoutMs: respondWithinMs }, Promise.race([work, lost]));
  try {
    await inTime("The connection to listen on", client.connect());
    const listens = [...channels, proof].map((channel) => `listen "${channel.replaceAll('"', '""')}"`);
    await inTime("LISTEN", client.query(listens.join("; ")));
    await inTime("NOTIFY from another connection", notifyFromElsewhere(another, proof));
    await inTime("NOTIFY, which needs a session and no transaction-mode pooler,", proven);
    await inTime("UNLISTEN", client.query(`unlisten "${proof}"`));
    onUp();
    for (;;) {
      await sleep(checkEveryMs, gone);
      await inTime("The connection that listens", client.query("select"));
    }
  } catch (error) {
    return fromDriverError(error);
  } finally {
    await withDeadline("end", { timeoutMs: 1000 }, client.end()).catch(() => undefined);
  }
}

/**
 * Behind a pooler that shares sessions, LISTEN works, and so does a NOTIFY from the same connection, but notifications
 * from other connections never arrive. So the proof is sent from another connection.
 */
async function notifyFromElsewhere(another: Connect, channel: string): Promise<void> {
  const client = await another();
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.query(`notify "${channel}"`);
  } finally {
    client.end().catch(() => undefined);
  }
}

/** Rejects, and aborts the signal, when the connection is lost or the listener is closed. */
function lossOf(client: PgListenClient, closing: AbortSignal): { signal: AbortSignal; lost: Promise<never> } {
  const gone = new AbortController();
  const lost = new Promise<never>((_, reject) => {
    client.on("error", reject);
    client.on("end", () => reject(new ConnectionError("The connection that listens has ended")));
    closing.addEventListener("abort", () => reject(new ConnectionError("closed")), {
      once: true,
      signal: gone.signal,
    });
  });
  lost.catch(() => gone.abort());
  return { signal: gone.signal, lost };
}
