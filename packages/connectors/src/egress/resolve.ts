/** Resolves names, and refuses a name if one of its addresses is not allowed. Its result is what is dialled. */

import { promises as dns, type LookupAddress } from "node:dns";
import { lookup as systemLookup } from "node:dns/promises";
import type { LookupFunction } from "node:net";
import { ConnectorError } from "../errors.ts";
import { normalHost } from "./hosts.ts";
import type { EgressPolicy } from "./policy.ts";
import { blockedAddress } from "./url.ts";

const tryMs = 2000;
const tries = 2;
/** An answer may have thousands of addresses. All are checked, these many are dialled. */
const maxAddresses = 16;

/**
 * A `lookup` for sockets. It asks DNS servers itself: getaddrinfo blocks a thread per slow name, adds search domains
 * and cannot be canceled. `took` is called with the milliseconds of each lookup.
 */
export function guardedLookup(policy: EgressPolicy, took: (ms: number) => void): LookupFunction {
  const resolver = new dns.Resolver({ timeout: tryMs, tries });
  if (policy.dns_servers.length > 0) resolver.setServers(policy.dns_servers);
  return (hostname, options, callback) => {
    const start = performance.now();
    resolve(resolver, hostname, policy).then(
      (addresses) => {
        took(performance.now() - start);
        const [first] = addresses;
        // The option decides the form: a socket that may try several addresses asks for all.
        if (options.all) callback(null, addresses);
        else callback(null, first?.address ?? "", first?.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, []),
    );
  };
}

async function resolve(
  resolver: dns.Resolver,
  hostname: string,
  policy: EgressPolicy,
): Promise<LookupAddress[]> {
  const addresses = await find(resolver, normalHost(hostname), policy);
  if (addresses.length === 0) throw notFound(hostname);
  // A mixed answer is a sign of an attack: when one address fails, the next one would be dialled.
  if (addresses.some(({ address }) => !policy.addresses.allows(address))) throw blockedAddress();
  return addresses.slice(0, maxAddresses);
}

async function find(resolver: dns.Resolver, host: string, policy: EgressPolicy): Promise<LookupAddress[]> {
  // No DNS server needs to know these names (RFC 6761). The policy has allowed them by name before.
  if (host === "localhost" || host.endsWith(".localhost"))
    return [
      { address: "127.0.0.1", family: 4 },
      { address: "::1", family: 6 },
    ];
  if (policy.dns === "system") return await systemLookup(host, { all: true }).catch(() => []);
  const [four, six] = await Promise.all([
    resolver.resolve4(host).catch(() => []),
    resolver.resolve6(host).catch(() => []),
  ]);
  return [
    ...four.map((address) => ({ address, family: 4 })),
    ...six.map((address) => ({ address, family: 6 })),
  ];
}

function notFound(hostname: string): ConnectorError {
  return new ConnectorError("dns_failed", `The name ${hostname} could not be resolved.`, { sent: false });
}
