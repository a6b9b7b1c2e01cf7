/** Where secrets come from. Payloads and configurations contain their names only. */
import { readFile, stat } from "node:fs/promises";
import { z } from "zod";

/** A reference to a secret, as payloads and configurations have it. */
export const secretReference = z.strictObject({
  $secret: z
    .string()
    .regex(/^[A-Z][A-Z0-9_]{0,63}$/, "must be a name such as STRIPE_KEY: capitals, digits and underscores"),
});
export type SecretReference = z.infer<typeof secretReference>;

/** Passed as the tenant to ask for a secret that tenants share. */
export const sharedTenant = "shared";

export interface SecretProvider {
  /** Resolves to the value of a tenant's secret, or undefined. `tenantId` may be `shared`. */
  get(tenantId: string, name: string, signal: AbortSignal): Promise<string | undefined>;
}

/**
 * Reads `JOBFORGE_SECRET_<TENANT>_<NAME>`, where the tenant is its uuid in capitals without dashes, or `SHARED`. The
 * prefix keeps other variables, such as DATABASE_URL, out of reach.
 */
export function environmentSecrets(
  env: Readonly<Record<string, string | undefined>> = process.env,
): SecretProvider {
  return {
    get: async (tenantId, name) =>
      env[`JOBFORGE_SECRET_${tenantId.replaceAll("-", "").toUpperCase()}_${name}`],
  };
}

const fileDocument = z.record(z.string(), z.record(z.string(), z.string()));

/** Reads a JSON file `{"<tenant uuid>": {"NAME": "value"}, "shared": {…}}`, and reads it again when it has changed. */
export function fileSecrets(path: string): SecretProvider {
  let read: { readonly stamp: string; readonly secrets: z.infer<typeof fileDocument> } | undefined;
  return {
    get: async (tenantId, name) => {
      const { mtimeMs, size, ino } = await stat(path);
      const stamp = [mtimeMs, size, ino].join();
      if (read?.stamp !== stamp)
        read = { stamp, secrets: fileDocument.parse(JSON.parse(await readFile(path, "utf8"))) };
      const ofTenant = Object.hasOwn(read.secrets, tenantId) ? read.secrets[tenantId] : undefined;
      return ofTenant !== undefined && Object.hasOwn(ofTenant, name) ? ofTenant[name] : undefined;
    },
  };
}

/** Asks each provider in order until one has the secret. */
export function firstOf(...providers: readonly SecretProvider[]): SecretProvider {
  return {
    get: async (tenantId, name, signal) => {
      for (const provider of providers) {
        const value = await provider.get(tenantId, name, signal);
        if (value !== undefined) return value;
      }
      return undefined;
    },
  };
}
