/** The handlers of the connectors, set up by the environment of the worker. */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { SecretProvider } from "@jobforge/connectors";
import { globalTenant, type JobForge, type JobHandler } from "@jobforge/sdk-ts";
import { CommandError, UsageError } from "../failures.ts";
import { fileError } from "../files.ts";
import type { CliProcess } from "../process.ts";
import { loadMasterKeys } from "./master-keys.ts";

/**
 * JOBFORGE_EGRESS_POLICY is the file of the operator's policy, JOBFORGE_EGRESS=loopback allows this machine for
 * development (`public` does not), and JOBFORGE_SECRETS_FILE has secrets in addition to those of the environment.
 */
export async function loadConnectors(
  forge: JobForge,
  env: CliProcess["env"],
  cwd: string,
): Promise<JobHandler[]> {
  const { connectors, loopbackEgress } = await import("@jobforge/connectors");
  const egress = env["JOBFORGE_EGRESS"] || "public";
  if (egress !== "public" && egress !== "loopback")
    throw new UsageError(`JOBFORGE_EGRESS must be public or loopback, not ${egress}.`);
  const policyFile = env["JOBFORGE_EGRESS_POLICY"];
  const secrets = await loadSecrets(env, cwd);
  const masterKeys = await loadMasterKeys(env);
  try {
    return connectors({
      forge,
      egress: {
        ...(egress === "loopback" ? loopbackEgress : {}),
        ...(policyFile ? JSON.parse(await readFile(resolve(cwd, policyFile), "utf8")) : {}),
      },
      webhooks: { masterKeys },
      secrets,
    });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(
      "invalid_egress_policy",
      `The egress policy is invalid: ${reason}`,
      "Fix JOBFORGE_EGRESS_POLICY.",
    );
  }
}

/** A file that cannot be read is an error at start. Later, jobs would only say that a secret is not available. */
async function loadSecrets(env: CliProcess["env"], cwd: string): Promise<SecretProvider> {
  const { environmentSecrets, fileSecrets, firstOf } = await import("@jobforge/connectors");
  const file = env["JOBFORGE_SECRETS_FILE"];
  if (!file) return environmentSecrets(env);
  const ofFile = fileSecrets(resolve(cwd, file));
  try {
    await ofFile.get(globalTenant, "ANY", new AbortController().signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== undefined) throw fileError("read", file, error);
    // The text of this error may contain a part of the file.
    throw new CommandError(
      "invalid_secrets_file",
      `The file ${file} does not have the form of secrets.`,
      'Write JSON such as {"11111111-1111-4111-8111-111111111111": {"API_KEY": "value"}, "shared": {}}.',
    );
  }
  return firstOf(environmentSecrets(env), ofFile);
}
