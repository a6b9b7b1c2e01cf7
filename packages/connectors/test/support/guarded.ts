/** Guarded requests without a database: one job context is enough for tests of what is reached. */
import { onTestFinished } from "vitest";
import { Agents } from "../../src/egress/agents.ts";
import { readBody } from "../../src/egress/body.ts";
import { type Exchange, type OutboundRequest, send } from "../../src/egress/exchange.ts";
import { type EgressDocument, egressPolicy } from "../../src/egress/policy.ts";
import { T } from "./run.ts";

export interface Outcome {
  readonly exchange: Exchange;
  readonly text: string;
}

export type GuardedRequest = Partial<Omit<OutboundRequest, "rules">> & {
  readonly url: string;
  readonly policy?: EgressDocument;
  readonly maxBytes?: number;
};

/** Returns a function that sends requests over one set of connections. */
export function guarded(defaults: EgressDocument): (request: GuardedRequest) => Promise<Outcome> {
  const agents = new Agents();
  onTestFinished(() => agents.close());
  return async ({ policy = defaults, maxBytes = 1_000_000, ...request }) => {
    const exchange = await send(agents, {
      tenantId: T,
      method: "GET",
      headers: {},
      redirects: 3,
      waits: { connectMs: 5000, betweenBytesMs: 5000 },
      timeoutMs: 20_000,
      signal: new AbortController().signal,
      ...request,
      rules: { policy: egressPolicy(policy) },
    });
    try {
      const { bytes } = await readBody(exchange.body, maxBytes);
      return { exchange, text: bytes.toString("utf8") };
    } catch (error) {
      throw exchange.failure(error);
    }
  };
}
