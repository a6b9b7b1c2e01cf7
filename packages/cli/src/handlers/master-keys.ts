/** The master keys of webhooks, which the environment names. */
import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { MasterKeys } from "@jobforge/connectors";
import type { ServerOptions } from "@jobforge/server";
import { dataFolder } from "../connection.ts";
import { UsageError } from "../failures.ts";
import type { CliProcess } from "../process.ts";

type Environment = CliProcess["env"];

export const masterKeyVariable = "JOBFORGE_WEBHOOK_MASTER_KEY";

export async function loadMasterKeys(env: Environment): Promise<MasterKeys> {
  const { masterKeysOf } = await import("@jobforge/connectors");
  try {
    return masterKeysOf(env);
  } catch (error) {
    throw new UsageError(`${(error as Error).message}.`);
  }
}

/** For a server that shows the secrets of endpoints. Undefined without a master key. */
export async function loadWebhookSecrets(env: Environment): Promise<ServerOptions["webhookSecrets"]> {
  const masterKeys = await loadMasterKeys(env);
  if (Object.keys(masterKeys).length === 0) return undefined;
  const { webhookSecrets } = await import("@jobforge/connectors");
  return webhookSecrets(masterKeys);
}

/** For development: without the variable, a key that is made once and kept in `.jobforge`. */
export async function withMasterKey(env: Environment, cwd: string): Promise<Environment> {
  if (env[masterKeyVariable]) return env;
  const kept = await keptMasterKey(cwd);
  if (kept !== undefined) return { ...env, [masterKeyVariable]: kept };
  const made = randomBytes(32).toString("base64");
  await mkdir(join(cwd, dataFolder), { recursive: true });
  await writeFile(keyFile(cwd), `${made}\n`, { mode: 0o600 });
  return { ...env, [masterKeyVariable]: made };
}

/** The key that `jobforge dev` has made in this directory, if it has. */
export async function keptMasterKey(cwd: string): Promise<string | undefined> {
  const kept = await readFile(keyFile(cwd), "utf8").catch(() => undefined);
  return kept?.trim();
}

function keyFile(cwd: string): string {
  return join(cwd, dataFolder, "webhook-master-key");
}
