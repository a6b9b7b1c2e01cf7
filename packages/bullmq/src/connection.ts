/** Connections to one Redis or to a Redis Cluster. */
import { InvalidArgumentError } from "@jobforge/sdk-ts";
import { Cluster, Redis } from "ioredis";

export type RedisClient = Redis | Cluster;

/** A URL, the URLs of some nodes of a cluster, or a client of ioredis. */
export type RedisTarget = string | readonly string[] | RedisClient;

export interface Connection {
  readonly client: RedisClient;
  readonly isCluster: boolean;
  /** Why Redis cannot be reached, as far as that is known. */
  readonly trouble: () => string | undefined;
  /** Another connection to the same Redis, for commands that block. */
  duplicate(): RedisClient;
  /** Closes the client, unless the application has passed it. */
  close(): void;
}

const hint =
  'Pass a URL such as "redis://localhost:6379", the URLs of cluster nodes, or a client of ioredis.';

/**
 * Commands wait until a lost connection is available again, as BullMQ requires, because a worker retries for as long
 * as it takes.
 */
const patient = { maxRetriesPerRequest: null } as const;

export function isCluster(target: RedisTarget): boolean {
  return Array.isArray(target) || target instanceof Cluster;
}

export function openConnection(target: RedisTarget): Connection {
  if (target instanceof Redis || target instanceof Cluster) return ofClient(target, false);
  if (typeof target === "string" && target !== "") return ofClient(newClient([target], false), true);
  if (Array.isArray(target) && target.length > 0) return ofClient(newClient(target, true), true);
  throw new InvalidArgumentError("Invalid argument: redis must be a URL, a list of URLs or a client", {
    field: "redis",
    hint,
  });
}

function newClient(urls: readonly string[], isCluster: boolean): RedisClient {
  const parsed = urls.map(parse);
  const [first] = parsed;
  if (!isCluster && first !== undefined) return new Redis(first.href, patient);
  const { username, password, protocol } = first ?? new URL("redis://localhost");
  const redisOptions = {
    ...patient,
    ...(username === "" ? {} : { username: decodeURIComponent(username) }),
    ...(password === "" ? {} : { password: decodeURIComponent(password) }),
    ...(protocol === "rediss:" ? { tls: {} } : {}),
  };
  const nodes = parsed.map(({ hostname, port }) => ({ host: hostname, port: Number(port || 6379) }));
  // A slot has no master for a moment while a replica takes over.
  return new Cluster(nodes, {
    redisOptions,
    retryDelayOnClusterDown: 200,
    retryDelayOnFailover: 200,
    maxRedirections: 64,
  });
}

function parse(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^rediss?:$/.test(parsed.protocol))
    throw new InvalidArgumentError(
      "Invalid argument: redis must be a URL that begins with redis:// or rediss://",
      {
        field: "redis",
        hint,
      },
    );
  return parsed;
}

function ofClient(client: RedisClient, isOwn: boolean): Connection {
  let trouble: string | undefined;
  // Without a listener, Node prints every lost connection as an unhandled event. Calls and workers report it.
  client.on("error", (error: Error & { readonly lastNodeError?: Error }) => {
    trouble = (error.lastNodeError ?? error).message;
  });
  client.on("ready", () => {
    trouble = undefined;
  });
  return {
    client,
    isCluster: isCluster(client),
    trouble: () => trouble,
    duplicate: () => {
      const other = client instanceof Cluster ? client.duplicate() : client.duplicate(patient);
      other.on("error", () => undefined);
      return other;
    },
    close: () => {
      if (isOwn) client.disconnect();
    },
  };
}
