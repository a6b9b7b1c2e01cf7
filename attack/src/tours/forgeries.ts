/** Tokens that a server with a shared secret must refuse, and tokens of tenants that have nothing. */
import { createHmac } from "node:crypto";
import type { Random } from "../../../sql/test/support/random.ts";
import type { Subject } from "../subjects.ts";
import { tenantA, tenantB } from "../tenants.ts";
import { secret, sign } from "../tokens.ts";

export interface Forgery {
  readonly name: string;
  readonly subject: Subject;
  token(random: Random): string | Promise<string>;
}

const encode = (part: unknown): string =>
  Buffer.from(typeof part === "string" ? part : JSON.stringify(part)).toString("base64url");
const soon = (): number => Math.floor(Date.now() / 1000) + 3600;

/** A token whose header and claims are given texts, signed with the right secret. */
function signed(
  header: unknown,
  claims: unknown,
  algorithm = "sha256",
  key: string | Buffer = secret,
): string {
  const content = `${encode(header)}.${encode(claims)}`;
  return `${content}.${createHmac(algorithm, key).update(content).digest("base64url")}`;
}

const operator = {
  role: "jobforge_operator",
  get exp() {
    return soon();
  },
};
const hs256 = { alg: "HS256", typ: "JWT" };
const forgery = (name: string, token: Forgery["token"], subject: Subject = "tokens"): Forgery => ({
  name,
  subject,
  token,
});

const algorithms: readonly Forgery[] = [
  ...["none", "None", "NONE", "nOnE", ""].flatMap((alg) => [
    forgery(`algorithm "${alg}" without a signature`, () => `${encode({ alg })}.${encode(operator)}.`),
    forgery(`algorithm "${alg}" with a signature`, () => signed({ alg }, operator)),
  ]),
  ...[
    ["HS384", "sha384"],
    ["HS512", "sha512"],
  ].map(([alg, hash]) => forgery(`algorithm ${alg}`, () => signed({ alg }, operator, hash))),
  ...["RS256", "ES256", "EdDSA", "PS256", "HS1", "A128KW", "dir"].map((alg) =>
    forgery(`algorithm ${alg} with a signature of HS256`, () => signed({ alg }, operator)),
  ),
  forgery("no algorithm", () => signed({}, operator)),
  forgery("algorithm as a list", () => signed({ alg: ["HS256"] }, operator)),
  forgery("two algorithms", () => signed('{"alg":"none","alg":"HS384"}', operator)),
  forgery("another secret", () => sign(operator, { key: "another secret that is long enough, too" })),
  forgery("an empty secret", () => signed(hs256, operator, "sha256", "")),
  forgery("a secret of NULs", () => signed(hs256, operator, "sha256", Buffer.alloc(48))),
  forgery("a signature of the claims only", () => {
    const claims = encode(operator);
    return `${encode(hs256)}.${claims}.${createHmac("sha256", secret).update(claims).digest("base64url")}`;
  }),
  forgery("changed claims", async () => {
    const [header, , signature] = (await sign({ role: "jobforge_app", tenant_id: tenantA })).split(".");
    return `${header}.${encode({ role: "jobforge_app", tenant_id: tenantB, exp: soon() })}.${signature}`;
  }),
  forgery("a cut signature", async ({ below }) => (await sign(operator)).slice(0, -1 - below(20))),
  forgery("no signature", async () => (await sign(operator)).replace(/\.[^.]*$/, "")),
  forgery("critical header", () => signed({ ...hs256, crit: ["x"], x: 1 }, operator)),
  forgery("content that is not encoded", () => signed({ ...hs256, b64: false, crit: ["b64"] }, operator)),
];

const times: readonly Forgery[] = [
  forgery("expired", () => sign({ ...operator, exp: 1 })),
  forgery("not valid yet", () => sign({ ...operator, nbf: soon() })),
  ...["soon", null, {}, "9999999999"].map((exp) =>
    forgery(`exp ${JSON.stringify(exp)}`, () => signed(hs256, { role: "jobforge_operator", exp })),
  ),
  forgery("without exp", () => signed(hs256, { role: "jobforge_operator" }), "tokens without an end"),
];

/** Claims that name no tenant. A token with one of them is refused. */
const refusedTenants: readonly unknown[] = [
  0,
  -1,
  1.5,
  2 ** 53,
  true,
  false,
  "",
  " ",
  "0",
  "-1",
  "null",
  "None",
  "UNDEFINED",
  "nil",
  ` ${tenantB}`,
  `${tenantB} `,
  `${tenantB}\n`,
  `${tenantB}\u0000`,
  `${tenantB}0`,
  `{${tenantB}`,
  [tenantB],
  { tenant_id: tenantB },
  {},
  tenantB.slice(0, -1),
  tenantB.replaceAll("-", "").slice(0, -1),
];

/** Claims that name a tenant of their own, which has no rows. They look like an id of tenant A or B, or like SQL. */
const strangeTenants: readonly unknown[] = [
  5,
  "x",
  "*",
  "%",
  `${tenantA}x`,
  `${tenantB}x`,
  `${tenantB}' or true --`,
  `${tenantB},${tenantA}`,
  `urn:uuid:${tenantB}`,
  tenantB.replaceAll("-", "_"),
  "' or tenant_id is not null --",
];

/** Tokens that name a tenant in each of the two claims. */
const naming = (tenant: unknown): readonly Forgery[] => [
  forgery(`tenant_id ${JSON.stringify(tenant)}`, () => sign({ role: "jobforge_app", tenant_id: tenant })),
  forgery(`app_metadata.tenant_id ${JSON.stringify(tenant)}`, () =>
    sign({ role: "authenticated", app_metadata: { tenant_id: tenant } }),
  ),
];

const tenants: readonly Forgery[] = refusedTenants.flatMap(naming);

const roles: readonly Forgery[] = [
  ...[
    "postgres",
    "jobforge_owner",
    "jobforge_view",
    "anon",
    "service_role",
    "none",
    "",
    "JOBFORGE_OPERATOR",
  ].map((role) => forgery(`role ${role}`, () => sign({ role }))),
  ...[null, 5, true, ["jobforge_operator"], { role: "jobforge_operator" }].map((role) =>
    forgery(`role ${JSON.stringify(role)}`, () => sign({ role })),
  ),
  ...["jobforge_worker", "jobforge_operator", "jobforge_reader"].map((role) =>
    forgery(`${role} that names a tenant`, () => sign({ role, tenant_id: tenantB })),
  ),
  forgery("role of a prototype", () =>
    signed(hs256, `{"__proto__":{"role":"jobforge_operator"},"exp":${soon()}}`),
  ),
  forgery("role of a constructor", () => sign({ constructor: { role: "jobforge_operator" } })),
  forgery("no claims", () => sign({})),
  ...["[]", "null", '"jobforge_operator"', "5", "{", ""].map((claims) =>
    forgery(`claims ${claims}`, () => signed(hs256, claims)),
  ),
];

const shapes: readonly Forgery[] = [
  forgery("deep claims", () =>
    signed(hs256, `{"role":"x","exp":${soon()},"a":${"[".repeat(5000)}${"]".repeat(5000)}}`),
  ),
  forgery("a large token", () => sign({ role: "x", a: "a".repeat(12_000) })),
  forgery("surrogates", () => signed(hs256, `{"role":"jobforge_operator\\ud800","exp":${soon()}}`)),
  forgery("a NUL in the role", () => signed(hs256, `{"role":"jobforge_operator\\u0000","exp":${soon()}}`)),
  ...["nonsense", "a.b.c", "..", ".", "a.b", "a.b.c.d.e", "%00", "null", "undefined", "Bearer"].map((token) =>
    forgery(`the text ${token}`, () => token),
  ),
];

export const forgeries: readonly Forgery[] = [...algorithms, ...times, ...tenants, ...roles, ...shapes];

/** Valid tokens of tenants that have no rows. They are accepted, and see nothing of tenant A and B. */
export const strangers: readonly Forgery[] = strangeTenants.flatMap(naming);
