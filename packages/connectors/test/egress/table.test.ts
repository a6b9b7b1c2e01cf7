/** The table of addresses, names and hosts. Its cases are data, so that every language is tested with the same ones. */
import { networkInterfaces } from "node:os";
import { describe, expect, test } from "vitest";
import table from "../../../../conformance/egress.json" with { type: "json" };
import { checkHeader, checkHeaders, isRefusedHeader } from "../../src/egress/headers.ts";
import { matchesAny, readPattern } from "../../src/egress/hosts.ts";
import { type EgressDocument, egressPolicy } from "../../src/egress/policy.ts";
import { checkUrl } from "../../src/egress/url.ts";
import { ConnectorError } from "../../src/index.ts";

const { cases } = table;

test.for(cases.addresses)(
  "the address $address is allowed: $allowed",
  ({ address, policy = {}, allowed }) => {
    expect(egressPolicy(policy as object).addresses.allows(address)).toBe(allowed);
  },
);

test.for(cases.urls)("the URL $url is judged by its text: $code", ({ url, code }) => {
  expect(codeOf(url)).toBe(code);
});

function codeOf(url: string): string | null {
  try {
    checkUrl(url, { policy: egressPolicy() });
    return null;
  } catch (error) {
    if (error instanceof ConnectorError) return error.code;
    throw error;
  }
}

test.for(cases.hosts)(
  "the pattern $pattern names $host: $matches",
  ({ pattern, host, port = 443, matches }) => {
    expect(matchesAny([pattern], host, port)).toBe(matches);
  },
);

test.for(cases.refused_patterns)("the pattern %j is refused", (pattern) => {
  expect(readPattern(pattern)).toBeUndefined();
});

describe("this machine", () => {
  const own = Object.values(networkInterfaces())
    .flatMap((found) => found ?? [])
    .filter(({ internal, family }) => !internal && family === "IPv4");

  test.skipIf(own.length === 0)("is not reached under its own addresses, even in an allowed network", () => {
    for (const { address } of own) {
      expect(egressPolicy({ allow_cidrs: ["0.0.0.0/0"] }).addresses.allows(address)).toBe(false);
      expect(egressPolicy({ allow_cidrs: [`${address}/32`] }).addresses.allows(address)).toBe(true);
    }
  });
});

test("what is not an address is not allowed", () => {
  const { addresses } = egressPolicy();
  for (const text of [undefined, "", "localhost", "fe80::1%lo", "1.2.3", "::ffff:1.2.3.4"])
    expect(addresses.allows(text), text).toBe(false);
});

test("headers that JobForge sets, or that open metadata services, are refused in any case", () => {
  for (const name of ["Host", "CONTENT-LENGTH", "Proxy-Authorization", "X-Forwarded-For", "Metadata-Flavor"])
    expect(isRefusedHeader(name), name).toBe(true);
  for (const name of ["accept", "x-api-key", "authorization", "cookie", "x-request-id"])
    expect(isRefusedHeader(name), name).toBe(false);
});

test("a header has a value of visible ASCII, which is never in the error", () => {
  for (const text of ["", "a b\tc", "~!@#$%^&*()"]) expect(() => checkHeader("x-a", text)).not.toThrow();
  for (const text of ["s3cret\r\nx-b: 1", "s3cret\n", "s3cret\0", "s3crét", "s3cret€", "s3cret\x7f"]) {
    expect(() => checkHeader("x-a", text)).toThrow("The value of the header x-a must be visible ASCII");
    expect(() => checkHeaders({ "x-jobforge-event": text })).toThrow("header x-jobforge-event must be");
    expect(() => checkHeader("x-a", text)).not.toThrow("s3cr");
  }
  for (const name of ["", "a b", "a:b", "a\r\nb", "ä"]) expect(() => checkHeader(name, "x")).toThrow("name");
});

test("a request has at most 64 headers, 16 KiB of them, and a URL of 8 KiB", () => {
  const headers = (count: number, length: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`x-${n}`, "a".repeat(length)]));
  expect(() => checkHeaders(headers(64, 200))).not.toThrow();
  expect(() => checkHeaders(headers(65, 1))).toThrow("at most 64 headers");
  expect(() => checkHeaders(headers(8, 2048))).toThrow("16384 bytes");
  const url = "https://api.example.com/";
  expect(codeOf(url.padEnd(8192, "a"))).toBeNull();
  expect(codeOf(url.padEnd(8193, "a"))).toBe("invalid_url");
});

test.for(cases.policies)("the policy %j is understood", (document) => {
  expect(egressPolicy(document as EgressDocument)).toMatchObject(document);
});

test.for(cases.refused_policies)("the policy %j is refused", (document) => {
  expect(() => egressPolicy(document as EgressDocument)).toThrow();
});
