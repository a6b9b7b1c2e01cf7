/** Names of hosts: their normal form, the names that are refused before DNS, and patterns that list hosts. */
import { isIP } from "node:net";
import { domainToASCII } from "node:url";
import { names } from "./table.ts";

/** A host in the form in which hosts are compared: ASCII, lower case, no brackets, no full stop at the end. */
export function normalHost(host: string): string {
  const plain = host.replace(/^\[|\]$/g, "");
  if (isIP(plain) !== 0) return plain.toLowerCase();
  return domainToASCII(plain.replace(/\.$/, "")).toLowerCase();
}

/** Whether a name can only mean something inside a network, or is malformed. */
export function isInternalName(host: string): boolean {
  const labels = normalHost(host).split(".");
  if (labels.length < 2 || labels.some((label) => label === "" || label.length > 63)) return true;
  return names.denied_suffixes.includes(labels.at(-1) ?? "");
}

export interface HostPattern {
  readonly host: string;
  /** Whether any name below the host is meant, but not the host itself. */
  readonly isWildcard: boolean;
  readonly port: number | undefined;
}

/** The form of a pattern: a name or an address, perhaps with a port. An address with colons and a port has brackets. */
const form = /^(\*\.)?(\[[0-9a-f:.]+\]|[^\s/:*@[\]]+)(?::(\d{1,5}))?$/i;

/**
 * Reads a pattern: `api.example.com`, `*.example.com` (any depth, not the name itself), an address, each perhaps with a
 * port. Returns undefined if the pattern is malformed or names a whole public top-level domain.
 */
export function readPattern(pattern: string): HostPattern | undefined {
  const [, star, name = "", port] = form.exec(isIP(pattern) === 6 ? `[${pattern}]` : pattern) ?? [];
  const host = normalHost(name);
  const isWildcard = star !== undefined;
  const labels = host.split(".");
  if (host === "" || labels.includes("")) return undefined;
  if (isWildcard && (isIP(host) !== 0 || (labels.length < 2 && !names.denied_suffixes.includes(host))))
    return undefined;
  const number = port === undefined ? undefined : Number(port);
  if (number !== undefined && (number < 1 || number > 65_535)) return undefined;
  return { host, isWildcard, port: number };
}

/** Whether a pattern of the list names this host and port. A malformed pattern names nothing. */
export function matchesAny(patterns: readonly string[], host: string, port: number): boolean {
  const plain = normalHost(host);
  return patterns.some((pattern) => {
    const wanted = readPattern(pattern);
    if (wanted === undefined || (wanted.port !== undefined && wanted.port !== port)) return false;
    return wanted.isWildcard ? plain.endsWith(`.${wanted.host}`) : plain === wanted.host;
  });
}
