/** Tokens of the attackers, and the secret of the server that they attack. */
import { SignJWT } from "jose";

export const secret = "a secret of the attack suite that is long enough";

/** Returns a token that is valid for one hour. */
export async function sign(
  claims: Readonly<Record<string, unknown>>,
  { key = secret, header = {} }: { key?: string; header?: object } = {},
): Promise<string> {
  return await new SignJWT({ exp: Math.floor(Date.now() / 1000) + 3600, ...claims })
    .setProtectedHeader({ alg: "HS256", ...header })
    .sign(new TextEncoder().encode(key));
}
