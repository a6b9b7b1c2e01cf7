/** Finds the address of a client, also behind proxies. Limits of requests without a valid token count by address. */
import { isIP, isIPv6 } from "node:net";

/**
 * How to find the client's address behind proxies. A number: how many proxies append to X-Forwarded-For. A text: the
 * name of a header that the proxy sets to the address. `false`: the address of the connection.
 */
export type TrustProxy = number | string | false;

/** The address of the client, or its network, see `networkOf`. */
export function clientAddress(socket: string | undefined, headers: Headers, trustProxy: TrustProxy): string {
  return networkOf(forwardedAddress(headers, trustProxy) ?? socket ?? "unknown");
}

/** Whether the client's connection is encrypted, as far as the server can know. */
export function isSecure(url: string, headers: Headers, trustProxy: TrustProxy): boolean {
  if (url.startsWith("https:")) return true;
  return trustProxy !== false && lastOf(headers.get("x-forwarded-proto")) === "https";
}

/**
 * The address that the trusted proxies report. X-Forwarded-For is read from the right: a client can send the header
 * itself, and each proxy appends the address that it sees. Undefined if the header does not have it.
 */
function forwardedAddress(headers: Headers, trustProxy: TrustProxy): string | undefined {
  if (trustProxy === false) return undefined;
  const reported =
    typeof trustProxy === "string"
      ? headers.get(trustProxy)
      : headers.get("x-forwarded-for")?.split(",").at(-trustProxy);
  const address = withoutPort(reported?.trim() ?? "");
  return isIP(address) === 0 ? undefined : address;
}

function lastOf(list: string | null): string | undefined {
  return list?.split(",").at(-1)?.trim().toLowerCase();
}

/** Some proxies append the port: `192.0.2.1:5678`, `[2001:db8::1]:5678`. */
function withoutPort(address: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\](?::\d+)?|([^:]+):\d+)$/.exec(address) ?? [];
  return bracketed ?? plain ?? address;
}

/**
 * The network that counts as one client. A client with IPv6 usually has a whole /64, so the first half of the address
 * counts. An IPv4 address counts as it is, also in its IPv6 form, however that is written.
 */
function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = "", tail] = address.replace(/%.*$/, "").split("::");
  const first = groupsOf(head);
  const last = groupsOf(tail ?? "");
  const missing = tail === undefined ? 0 : 8 - first.length - last.length;
  const all = [...first, ...Array<number>(missing).fill(0), ...last];
  if (all.slice(0, 6).join() === mappedPrefix) return all.slice(6).flatMap(bytesOf).join(".");
  const network = all.slice(0, 4).map((group) => group.toString(16));
  return `${network.join(":")}::/64`;
}

/** How the IPv6 form of an IPv4 address begins. */
const mappedPrefix = [0, 0, 0, 0, 0, 0xffff].join();

/** The numbers of 16 bits in a part of an IPv6 address. An IPv4 address at its end stands for two. */
function groupsOf(text: string): number[] {
  if (text === "") return [];
  return text.split(":").flatMap((group) => {
    if (!group.includes(".")) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split(".").map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}

function bytesOf(group: number): number[] {
  return [Math.floor(group / 256), group % 256];
}
