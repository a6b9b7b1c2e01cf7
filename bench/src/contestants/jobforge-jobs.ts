/** What the contestants of JobForge have in common: tenants, options of jobs, the version. */
import { readFileSync } from "node:fs";
import type { Job } from "./runtime.ts";

export function jobOptions({ payload, delaySeconds }: Job): {
  readonly tenantId: string;
  readonly runAt?: Date;
} {
  const options = { tenantId: tenantId(payload.tenant) };
  return delaySeconds > 0 ? { ...options, runAt: new Date(Date.now() + delaySeconds * 1000) } : options;
}

function tenantId(tenant: number): string {
  return `00000000-0000-4000-8000-${String(tenant + 1).padStart(12, "0")}`;
}

export function jobforgeVersion(): string {
  const file = new URL("../../../packages/sdk-ts/package.json", import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
