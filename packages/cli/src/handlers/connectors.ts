/** The handlers of the connectors, set up by the environment of the worker. */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { JobForge, JobHandler } from "@jobforge/sdk-ts";
import { CommandError, UsageError } from "../failures.ts";
import type { CliProcess } from "../process.ts";

/**
 * JOBFORGE_EGRESS_POLICY is the file of the operator's policy, JOBFORGE_EGRESS=loopback allows this machine for
 * development (`public` does not), and JOBFORGE_SECRETS_FILE has secrets in addition to those of the environment.
 */
export async function loadConnectors(
  forge: JobForge,
  env: CliProcess["env"],
  cwd: string,
): Promise<JobHandler[]> {
  const { connectors, environmentSecrets, fileSecrets, firstOf, loopbackEgress } = await import(
    "@jobforge/connectors"
  );
  const egress = env["JOBFORGE_EGRESS"] || "public";
  if (egress !== "public" && egress !== "loopback")
    throw new UsageError(`JOBFORGE_EGRESS must be public or loopback, not ${egress}.`);
  const policyFile = env["JOBFORGE_EGRESS_POLICY"];
  const secretsFile = env["JOBFORGE_SECRETS_FILE"];
  const ofEnvironment = environmentSecrets(env);
  try {
    return connectors({
      forge,
      egress: {
        ...(egress === "loopback" ? loopbackEgress : {}),
        ...(policyFile ? JSON.parse(await readFile(resolve(cwd, policyFile), "utf8")) : {}),
      },
      secrets: secretsFile ? firstOf(ofEnvironment, fileSecrets(resolve(cwd, secretsFile))) : ofEnvironment,
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
