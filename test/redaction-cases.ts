/**
 * Values that both the kernel and the worker's log must mask, and values that both must leave alone. No secret is real.
 */

export interface RedactionCase {
  readonly name: string;
  readonly value: unknown;
  readonly masked: unknown;
  /** Keys that the type's policy lists. */
  readonly listed?: readonly string[];
}

const key = `-----BEGIN RSA PRIVATE KEY-----\nMIIE-oops\n-----END RSA PRIVATE KEY-----`;
const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0123.c2lnbmF0dXJl";

export const redactionCases: readonly RedactionCase[] = [
  {
    name: "an Authorization header",
    value: "sent Authorization: Bearer abc.def-1 to x",
    masked: "sent Authorization: [redacted] to x",
  },
  {
    name: "basic credentials",
    value: 'headers {"authorization":"Basic dXNlcjpwYXNz"}',
    masked: 'headers {"authorization":"[redacted]"}',
  },
  {
    name: "a bearer token alone",
    value: "rejected bearer abc123xyz!",
    masked: "rejected bearer [redacted]!",
  },
  {
    name: "prose about bearers",
    value: "the bearer authentication failed",
    masked: "the bearer authentication failed",
  },
  {
    name: "password=",
    value: "host=db password=hunter2 user=me",
    masked: "host=db password=[redacted] user=me",
  },
  {
    name: "a password in quotes",
    value: `password: "two words", next`,
    masked: "password: [redacted], next",
  },
  {
    name: "a password in JSON in a text",
    value: String.raw`{\"db_password\":\"hun ter\",\"a\":1}`,
    masked: String.raw`{\"db_password\":[redacted],\"a\":1}`,
  },
  { name: "single quotes", value: "SECRET_KEY='a b' x", masked: "SECRET_KEY=[redacted] x" },
  {
    name: "an API key in a query",
    value: "GET /v1?api_key=abc&page=2",
    masked: "GET /v1?api_key=[redacted]&page=2",
  },
  { name: "an access token", value: "access_token=abc; x", masked: "access_token=[redacted]; x" },
  {
    name: "a connection string",
    value: "connect postgres://me:s3cr3t@db:5432/app failed",
    masked: "connect postgres://me:[redacted]@db:5432/app failed",
  },
  { name: "a password with @", value: "redis://:p@ss@cache:6379", masked: "redis://:[redacted]@cache:6379" },
  {
    name: "a token as the user",
    value: "https://0123456789abcdef0@git.example/x",
    masked: "https://[redacted]@git.example/x",
  },
  {
    name: "URLs without credentials",
    value: "https://example.com:8080/a@b ssh://git@host/x",
    masked: "https://example.com:8080/a@b ssh://git@host/x",
  },
  { name: "a JSON web token", value: `got ${jwt}.`, masked: "got [redacted]." },
  {
    name: "a JSON web token within a word",
    value: `x_${jwt} a.${jwt}`,
    masked: "x_[redacted] a.[redacted]",
  },
  {
    name: "a name with several words for secrets",
    value: "my-secret-token-key=abc token token: x tokens",
    masked: "my-secret-token-key=[redacted] token token: [redacted] tokens",
  },
  {
    name: "tokens of known forms",
    value: "sk_live_0123456789abcdef0 ghp_0123456789abcdefghij AKIAABCDEFGHIJKLMNOP xoxb-0123456789",
    masked: "[redacted] [redacted] [redacted] [redacted]",
  },
  { name: "a private key", value: `read ${key} twice`, masked: "read [redacted] twice" },
  { name: "a private key that was cut", value: "-----BEGIN PRIVATE KEY-----\nMIIE", masked: "[redacted]" },
  {
    name: "a text without secrets",
    value: "ECONNREFUSED 10.0.0.1:5432 after 3 tries",
    masked: "ECONNREFUSED 10.0.0.1:5432 after 3 tries",
  },
  {
    name: "keys with well-known names, but only if their value is a text",
    value: { Password: "x", tokens_used: 12, nested: [{ "api-key": "y", ok: "password=z" }] },
    masked: {
      Password: "[redacted]",
      tokens_used: 12,
      nested: [{ "api-key": "[redacted]", ok: "password=[redacted]" }],
    },
  },
  {
    name: "listed keys with values of any type",
    listed: ["ssn", "Card.No"],
    value: { SSN: 123, "card.no": { a: 1 }, text: "ssn=123-45 card.no: 4111, cardxno: 5, myssn=7" },
    masked: {
      SSN: "[redacted]",
      "card.no": "[redacted]",
      text: "ssn=[redacted] card.no: [redacted], cardxno: 5, myssn=7",
    },
  },
  { name: "a quoted secret that was cut", value: 'a password: "hun ter', masked: "a password: [redacted]" },
  { name: "other values", value: [null, true, 1.5, {}, []], masked: [null, true, 1.5, {}, []] },
  { name: "a stack is cut", value: { stack: "at x ".repeat(2000) }, masked: { stack: "at x ".repeat(800) } },
];
