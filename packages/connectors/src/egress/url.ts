/** The check of a URL before each request and each redirect. It decides by the text alone, before any DNS. */
import { isIP } from "node:net";
import { BlockedError, ConnectorError } from "../errors.ts";
import { isInternalName, matchesAny, normalHost } from "./hosts.ts";
import type { EgressPolicy } from "./policy.ts";

const maxUrlBytes = 8192;

export interface UrlRules {
  readonly policy: EgressPolicy;
  /** Lists of which every one must name the host. A list that is empty is not one. */
  readonly allowlists?: readonly (readonly string[] | undefined)[] | undefined;
  /** Whether only https is allowed. */
  readonly httpsOnly?: boolean | undefined;
}

/** Returns the parsed URL. Throws a ConnectorError that says which rule refuses it, and which setting allows it. */
export function checkUrl(text: string, { policy, allowlists = [], httpsOnly = false }: UrlRules): URL {
  const url = parse(text);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new BlockedError("blocked_scheme", `The scheme ${url.protocol} is not allowed: use https.`);
  if (url.protocol === "http:" && httpsOnly)
    throw new BlockedError(
      "blocked_scheme",
      "Plain http is not allowed here: use https. An operator can set allow_http.",
    );
  const port = portOf(url);
  checkHost(normalHost(url.hostname), port, policy);
  if (!policy.allowsPort(port))
    throw new BlockedError(
      "blocked_port",
      `Port ${port} is not allowed. An operator can add it to allow_ports.`,
    );
  for (const list of allowlists) {
    if (list !== undefined && list.length > 0 && !matchesAny(list, url.hostname, port))
      throw new BlockedError("blocked_host", `The host ${url.hostname} is not on the list of allowed hosts.`);
  }
  return url;
}

export function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

function parse(text: string): URL {
  // The parser drops tabs and line breaks, so that the text which was checked would not be the URL that is used.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
  if (Buffer.byteLength(text) > maxUrlBytes || /[\u0000-\u001f\u007f]/.test(text) || !URL.canParse(text))
    throw new ConnectorError(
      "invalid_url",
      "The URL is invalid: use a form such as https://api.example.com/v1.",
    );
  const url = new URL(text);
  if (url.username !== "" || url.password !== "")
    throw new ConnectorError(
      "invalid_url",
      "The URL contains a user or a password: use auth with a secret reference instead.",
    );
  return url;
}

function checkHost(host: string, port: number, policy: EgressPolicy): void {
  if (isIP(host) !== 0) {
    if (!policy.addresses.allows(host)) throw blockedAddress();
  } else if (isInternalName(host) && !matchesAny(policy.allow_names, host, port)) {
    throw new BlockedError(
      "blocked_host",
      `The host ${host === "" ? "name" : host} is not a public name. An operator can add it to allow_names.`,
    );
  }
}

/** One text for every refused address, so that it does not tell what a name resolves to. */
export function blockedAddress(): BlockedError {
  return new BlockedError(
    "blocked_address",
    "The address of the host is not public. An operator can add its network to allow_cidrs.",
  );
}
