/** The handlers of the connectors, set up by the environment of the worker. */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { JobForge, JobHandler } from "@jobforge/sdk-ts";
import type { Cli } from "../command.ts";
import { CommandError } from "../failures.ts";

/**
 * JOBFORGE_EGRESS_POLICY is the file of the operator's policy, JOBFORGE_EGRESS=loopback allows this machine for
 * development, and JOBFORGE_SECRETS_FILE has secrets in addition to those of the environment.
 */
export async function loadConnectors(forge: JobForge, cli: Cli, cwd: string): Promise<JobHandler[]> {
  const { connectors, environmentSecrets, fileSecrets, fileStore, firstOf, loopbackEgress } = await import(
    "@jobforge/connectors"
  );
  const { env } = cli.process;
  const policyFile = env["JOBFORGE_EGRESS_POLICY"];
  const secretsFile = env["JOBFORGE_SECRETS_FILE"];
  const ofEnvironment = environmentSecrets(env);
  try {
    return connectors({
      forge,
      egress: {
        ...(env["JOBFORGE_EGRESS"] === "loopback" ? loopbackEgress : {}),
        ...(policyFile ? JSON.parse(await readFile(resolve(cwd, policyFile), "utf8")) : {}),
      },
      secrets: secretsFile ? firstOf(ofEnvironment, fileSecrets(resolve(cwd, secretsFile))) : ofEnvironment,
      artifacts: fileStore(resolve(cwd, ".jobforge/artifacts")),
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
