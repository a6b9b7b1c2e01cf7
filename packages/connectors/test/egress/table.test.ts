/** The table of addresses, names and hosts. Its cases are data, so that every language is tested with the same ones. */
import { networkInterfaces } from "node:os";
import { describe, expect, test } from "vitest";
import table from "../../../../conformance/egress.json" with { type: "json" };
import { isRefusedHeader } from "../../src/egress/headers.ts";
import { matchesAny, readPattern } from "../../src/egress/hosts.ts";
import { egressPolicy } from "../../src/egress/policy.ts";
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

test("a policy with a mistake is refused", () => {
  for (const document of [{ allow_cidrs: ["10.0.0.0"] }, { allow_cidrs: ["::/129"] }, { alow_cidrs: [] }])
    expect(() => egressPolicy(document as object)).toThrow();
});
