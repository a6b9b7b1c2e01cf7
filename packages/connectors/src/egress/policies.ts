/**
 * The policy in force for a tenant: what the worker itself allows, and what operators have set in the database for all
 * tenants and for this one.
 */
import type { JobForgeClient } from "@jobforge/sdk-ts";
import { ConnectorError } from "../errors.ts";
import type { Surroundings } from "../surroundings.ts";
import { type EgressDocument, type EgressPolicy, egressPolicy } from "./policy.ts";

/** The worker's own policy: one document for all tenants, or a function that returns the document of a tenant. */
export type EgressSource =
  | EgressDocument
  | ((tenantId: string, signal: AbortSignal) => Promise<EgressDocument> | EgressDocument);

const cacheMs = 5000;
const maxCached = 10_000;

/** A policy of the database is at most five seconds old. One that cannot be read is an error, never "no policy". */
export function policies(
  forge: Pick<JobForgeClient, "egress">,
  source: EgressSource,
): Surroundings["egressOf"] {
  // A document is read once at start, so that a mistake in it is found then.
  if (typeof source !== "function") egressPolicy(source);
  const stored = new Map<string, { readonly until: number; readonly documents: readonly EgressDocument[] }>();
  const known = new Map<string, EgressPolicy>();
  const storedOf = async (tenantId: string): Promise<readonly EgressDocument[]> => {
    const cached = stored.get(tenantId);
    if (cached !== undefined && cached.until > performance.now()) return cached.documents;
    const { all, tenant } = await forge.egress.get({ tenantId });
    const documents = [tenant, all].filter((each) => each !== undefined) as readonly EgressDocument[];
    if (stored.size >= maxCached) stored.clear();
    stored.set(tenantId, { documents, until: performance.now() + cacheMs });
    return documents;
  };
  return async (tenantId, signal) => {
    try {
      const own = typeof source === "function" ? await source(tenantId, signal) : source;
      const document = combined([own, ...(await storedOf(tenantId))]);
      const text = JSON.stringify(document);
      const policy = known.get(text) ?? egressPolicy(document);
      if (known.size >= 1000) known.clear();
      known.set(text, policy);
      return policy;
    } catch {
      signal.throwIfAborted();
      throw new ConnectorError("config_unavailable", "The egress policy could not be read.", { sent: false });
    }
  };
}

/**
 * Adds policies to each other: lists are joined, and what one of them allows is allowed. Of settings that exclude each
 * other, such as the proxy, the first one counts. The worker's own comes first, because it knows its network; then the
 * tenant's.
 */
export function combined(documents: readonly EgressDocument[]): EgressDocument {
  const [first = {}] = documents;
  if (documents.length < 2) return first;
  const joined = <K extends "allow_cidrs" | "allow_names" | "allow_ports">(key: K): EgressDocument[K] =>
    documents.flatMap((each) => each[key] ?? []) as EgressDocument[K];
  const certificates = documents.flatMap(({ ca }) => ca ?? []);
  const last = documents.toReversed();
  // What is malformed must not vanish in the combination, so unknown keys stay and are refused.
  return {
    ...(Object.assign({}, ...last) as EgressDocument),
    allow_cidrs: joined("allow_cidrs"),
    allow_names: joined("allow_names"),
    allow_ports: joined("allow_ports"),
    allow_http: documents.some(({ allow_http }) => allow_http === true),
    nat64: documents.some(({ nat64 }) => nat64 === true),
    secrets: Object.assign({}, ...last.map(({ secrets }) => secrets)) as EgressDocument["secrets"],
    ...(certificates.length === 0 ? {} : { ca: certificates }),
  };
}
