/**
 * Decides which addresses may be reached. By default these are public addresses: not loopback, not private networks,
 * not the metadata services of clouds, and not this machine. IPv6 is allowed by list, so that new forms of embedded
 * addresses are refused until the list names them.
 */
import { BlockList, isIP, isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";
import { addresses } from "./table.ts";

export interface AddressRules {
  /** Networks that are allowed although they are not public, such as `10.1.0.0/16`. */
  readonly allow_cidrs: readonly string[];
  /** Whether addresses of NAT64 are judged by the IPv4 address that they contain. */
  readonly nat64: boolean;
}

/** Whether a text is a network in the form `address/length`. */
export function isCidr(text: string): boolean {
  const [address = "", length = "", ...more] = text.split("/");
  const family = isIP(address);
  return (
    more.length === 0 &&
    family !== 0 &&
    !address.includes("%") &&
    /^\d{1,3}$/.test(length) &&
    Number(length) <= (family === 4 ? 32 : 128)
  );
}

export function networks(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = "", length] = cidr.split("/");
    list.addSubnet(address, Number(length), familyOf(address));
  }
  return list;
}

const never = networks(addresses.never);
const ipv4Denied = networks(addresses.ipv4_denied);
const ipv6Allowed = networks(addresses.ipv6_allowed);
const ipv6Denied = networks(addresses.ipv6_denied);
const nat64 = networks([addresses.nat64_prefix]);
const loopback = networks(addresses.loopback);

export class Addresses {
  readonly #exact: BlockList;
  readonly #allowed: BlockList;
  readonly #nat64: boolean;

  constructor({ allow_cidrs, nat64 }: AddressRules) {
    this.#exact = networks(allow_cidrs.filter((cidr) => /\.\d+\/32$|:[^.]*\/128$/.test(cidr)));
    this.#allowed = networks(allow_cidrs);
    this.#nat64 = nat64;
  }

  /** Whether a connection to this literal address is allowed. Anything that is not an address is not. */
  allows(address: string | undefined): boolean {
    if (address === undefined || isIP(address) === 0 || address.includes("%")) return false;
    const family = familyOf(address);
    if (isMapped(address)) return false;
    if (this.#exact.check(address, family)) return true;
    const embedded = family === "ipv6" && nat64.check(address, family) ? embeddedAddress(address) : undefined;
    if (never.check(address, family) || isOwn(address)) return false;
    if (embedded !== undefined && never.check(embedded)) return false;
    if (this.#allowed.check(address, family)) return true;
    if (family === "ipv4") return !ipv4Denied.check(address, family);
    if (this.#nat64 && embedded !== undefined) return this.allows(embedded);
    return ipv6Allowed.check(address, family) && !ipv6Denied.check(address, family);
  }
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIPv4(address) ? "ipv4" : "ipv6";
}

/** BlockList judges `::ffff:10.0.0.1` by its IPv4 rules. No honest DNS record has this form. */
function isMapped(address: string): boolean {
  return !isIPv4(address) && groupsOf(address).slice(0, 6).join() === "0,0,0,0,0,65535";
}

/** The IPv4 address in the last 32 bits. */
function embeddedAddress(address: string): string {
  const [high = 0, low = 0] = groupsOf(address).slice(6);
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/** The eight groups of an IPv6 address. A URL writes each address in the one canonical form. */
function groupsOf(address: string): number[] {
  const canonical = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [head = "", tail] = canonical.split("::");
  const numbers = (text: string): number[] =>
    text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
  const [first, last] = [numbers(head), numbers(tail ?? "")];
  return tail === undefined ? first : [...first, ...Array(8 - first.length - last.length).fill(0), ...last];
}

const ownForMs = 5000;
let own = { at: Number.NEGATIVE_INFINITY, list: new BlockList() };

/** Whether the address belongs to this machine, other than loopback. Interfaces change, so they are read again. */
function isOwn(address: string): boolean {
  const now = performance.now();
  if (now - own.at > ownForMs) {
    const list = new BlockList();
    for (const { address } of Object.values(networkInterfaces()).flatMap((found) => found ?? [])) {
      const plain = address.replace(/%.*$/, "");
      if (!loopback.check(plain, familyOf(plain))) list.addAddress(plain, familyOf(plain));
    }
    own = { at: now, list };
  }
  return own.list.check(address, familyOf(address));
}
