/**
 * What may be reached. The operator's policy widens the default; the tenant's configuration and the payload only narrow
 * it. All of them are documents with the same spelling in code, in files and in the database.
 */
import { createHash } from "node:crypto";
import { isIP } from "node:net";
import { z } from "zod";
import { Addresses, isCidr } from "./addresses.ts";
import { readPattern } from "./hosts.ts";
import { ports } from "./table.ts";

export const hostPattern = z
  .string()
  .refine(
    (pattern) => readPattern(pattern) !== undefined,
    "must be a host such as api.example.com or *.example.com",
  );
const portRange = z
  .union([z.int().min(1).max(65_535), z.string().regex(/^\d{1,5}-\d{1,5}$/)])
  .describe("a port, or a range such as 8000-8100");

/** The operator's document. Every key widens what is reached, so tenants must not be able to write it. */
export const egressDocument = z.strictObject({
  /** Networks that are not public and may be reached, such as `10.1.0.0/16`. */
  allow_cidrs: z.array(z.string().refine(isCidr, "must be a network such as 10.1.0.0/16")).default([]),
  /** Names that are refused by default, such as `billing.internal` and `*.svc.cluster.local`. */
  allow_names: z.array(hostPattern).default([]),
  nat64: z.boolean().default(false),
  /** Whether webhooks may be sent over plain http. */
  allow_http: z.boolean().default(false),
  allow_ports: z.array(portRange).default([]),
  /** The DNS servers to ask, instead of those of this machine. */
  dns_servers: z.array(z.string().refine(isServer, "must be an address, perhaps with a port")).default([]),
  /** `system` asks the operating system, which also reads the hosts file. */
  dns: z.enum(["resolver", "system"]).default("resolver"),
  /** An egress proxy. It resolves names and must refuse private addresses itself. */
  proxy: z.url({ protocol: /^https?$/ }).optional(),
  /** Certificates to trust in addition to those of Node, in PEM form. */
  ca: z.union([z.string(), z.array(z.string())]).optional(),
  /** The secrets that may be used, and the hosts that each of them may be sent to. */
  secrets: z
    .record(
      z.string().regex(/^[A-Z][A-Z0-9_]{0,63}$/),
      z.strictObject({
        hosts: z.array(hostPattern).min(1),
        /** Whether the value may come from the variable that all tenants share. */
        shared: z.boolean().default(false),
      }),
    )
    .default({}),
});
export type EgressDocument = z.input<typeof egressDocument>;
type EgressSettings = z.output<typeof egressDocument>;

function isServer(text: string): boolean {
  const [, six, four, port = "53"] = /^(?:\[([0-9a-f:.]+)\]|([0-9.]+))(?::(\d{1,5}))?$/i.exec(text) ?? [];
  return isIP(text) !== 0 || (isIP(six ?? four ?? "") !== 0 && Number(port) >= 1 && Number(port) <= 65_535);
}

/** A document in force, with the functions that judge by it. */
export interface EgressPolicy extends EgressSettings {
  /** Changes with the document. Connections are never shared between two versions. */
  readonly version: string;
  readonly addresses: Addresses;
  allowsPort(port: number): boolean;
}

/** Reads an operator's document. Throws a ZodError that names what is wrong. */
export function egressPolicy(document: EgressDocument = {}): EgressPolicy {
  const settings = egressDocument.parse(document);
  const version = createHash("sha256").update(JSON.stringify(settings)).digest("base64url").slice(0, 16);
  return {
    ...settings,
    version,
    addresses: new Addresses(settings),
    allowsPort: (port) => isUsualPort(port) || settings.allow_ports.some((range) => isWithin(port, range)),
  };
}

function isUsualPort(port: number): boolean {
  return ports.allowed.includes(port) || (port >= ports.allowed_from && !ports.denied.includes(port));
}

function isWithin(port: number, range: number | string): boolean {
  if (typeof range === "number") return port === range;
  const [from = 0, to = 0] = range.split("-").map(Number);
  return from <= port && port <= to;
}

/** For development: loopback in addition, over http. */
export const loopbackEgress: EgressDocument = {
  allow_cidrs: ["127.0.0.0/8", "::1/128"],
  allow_names: ["localhost", "*.localhost"],
  allow_http: true,
};
