/** A server that trusts the keys of a JWKS, and tokens that it must refuse. */
import { createHmac } from "node:crypto";
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from "jose";
import { serveJson } from "../../../test/serve-json.ts";
import { Target } from "../http.ts";
import type { Scene } from "../scene.ts";
import { tenantA } from "../tenants.ts";

export interface KeySet extends AsyncDisposable {
  readonly target: Target;
  readonly forgeries: readonly { readonly name: string; token(): Promise<string> }[];
}

const issuer = "https://issuer.example";
const audience = "jobforge";

export async function keySet(scene: Scene): Promise<KeySet> {
  const right = await generateKeyPair("RS256", { extractable: true });
  const wrong = await generateKeyPair("RS256", { extractable: true });
  const jwk = { ...(await exportJWK(right.publicKey)), kid: "k1", alg: "RS256", use: "sig" };
  const published = await serveJson({ keys: [jwk] });
  const evil = await serveJson({
    keys: [{ ...(await exportJWK(wrong.publicKey)), kid: "k1", alg: "RS256" }],
  });
  const target = await Target.open(scene, {
    ...{ jwtSecret: undefined, jwksUrl: published.url, jwtIssuer: issuer, jwtAudience: audience },
  });
  const pem = await exportSPKI(right.publicKey);
  const claims = { role: "jobforge_operator", iss: issuer, aud: audience };
  type Key = typeof right.privateKey;
  const make = (header: object = {}, more: object = {}, key: Key = right.privateKey): Promise<string> =>
    new SignJWT({ ...claims, ...more })
      .setProtectedHeader({ alg: "RS256", kid: "k1", ...header })
      .setExpirationTime("1h")
      .sign(key);
  /** A token that is signed with the public key, as if the key were a shared secret. */
  const confused = async (key: string | Buffer): Promise<string> => {
    const exp = Math.floor(Date.now() / 1000) + 3600;
    const parts = [
      { alg: "HS256", kid: "k1" },
      { ...claims, exp },
    ];
    const content = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
    return `${content}.${createHmac("sha256", key).update(content).digest("base64url")}`;
  };
  const own = { ...(await exportJWK(wrong.publicKey)) };
  const forged = (name: string, token: () => Promise<string>) => ({ name, token });
  return {
    target,
    forgeries: [
      forged("another key", () => make({}, {}, wrong.privateKey)),
      forged("another key, in the header", () => make({ jwk: own }, {}, wrong.privateKey)),
      forged("another key, at a URL", () => make({ jku: evil.url }, {}, wrong.privateKey)),
      forged("another key, as a certificate", () => make({ x5u: evil.url }, {}, wrong.privateKey)),
      ...["k2", "../../dev/null", "k1' or '1'='1", "", "__proto__"].map((kid) =>
        forged(`key id ${kid}`, () => make({ kid }, {}, wrong.privateKey)),
      ),
      forged("another issuer", () => make({}, { iss: "https://evil.example" })),
      forged("another audience", () => make({}, { aud: "other" })),
      forged("no audience", () => make({}, { aud: undefined })),
      forged("not valid yet", () => make({}, { nbf: Math.floor(Date.now() / 1000) + 3600 })),
      forged("an operator that names a tenant", () => make({}, { tenant_id: tenantA })),
      forged("the public key as a secret, PEM", () => confused(pem)),
      forged("the public key as a secret, trimmed PEM", () => confused(pem.trim())),
      forged("the public key as a secret, JWK", () => confused(JSON.stringify(jwk))),
      forged("the public key as a secret, n", () => confused(Buffer.from(String(jwk.n), "base64url"))),
      forged("algorithm none", async () => `${(await make({})).split(".")[0]}.e30.`),
    ],
    [Symbol.asyncDispose]: async () => {
      await target[Symbol.asyncDispose]();
      await Promise.all([published, evil].map((each) => each[Symbol.asyncDispose]()));
    },
  };
}
