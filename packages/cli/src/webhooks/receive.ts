/** Checks deliveries as a receiver does. */
import type { VerifiedWebhook, WebhookErrorCode, WebhookHeaders } from "@jobforge/connectors/verify";
import { verifyLegacyWebhook, verifyWebhook, WebhookVerificationError } from "@jobforge/connectors/verify";
import type { Command } from "commander";
import { Option } from "commander";
import { UsageError } from "../failures.ts";
import { collect, readSpan } from "../output/values.ts";
import type { CliProcess } from "../process.ts";

const variable = "JOBFORGE_WEBHOOK_SECRET";

export interface ReceiverOptions {
  readonly json?: boolean | undefined;
  readonly secret?: readonly string[];
  readonly tolerance: number;
}

export function withSecrets(command: Command): Command {
  return command
    .option(
      "--secret <secret>",
      `what jobforge webhooks secret shows (default: ${variable}); repeat it while a key is rotated`,
      collect,
    )
    .addOption(
      new Option("--tolerance <span>", "how far the time of a delivery may be from now")
        .argParser(readSpan)
        .default(300_000, "5m"),
    );
}

/** Shells and process lists show arguments, so a secret may also come from the environment. */
export function secretsOf({ secret }: ReceiverOptions, { env }: CliProcess): readonly string[] {
  const found = secret ?? (env[variable] ? collect(env[variable], undefined) : []);
  if (found.length > 0) return found;
  throw new UsageError(`Pass --secret, or set ${variable}. jobforge webhooks secret shows it.`);
}

export interface Refusal {
  readonly code: WebhookErrorCode;
  readonly message: string;
}

export type Checked = { readonly verified: VerifiedWebhook } | { readonly refused: Refusal };

export interface Delivery {
  readonly body: Uint8Array;
  readonly headers: WebhookHeaders & Readonly<Record<string, unknown>>;
}

/** Checks a delivery. One that has only the older signature is checked by it. */
export async function checkDelivery(
  { body, headers }: Delivery,
  secret: readonly string[],
  toleranceMs: number,
): Promise<Checked> {
  const isLegacy =
    headers["webhook-signature"] === undefined && headers["x-jobforge-signature"] !== undefined;
  const verify = isLegacy ? verifyLegacyWebhook : verifyWebhook;
  try {
    return { verified: await verify({ body, headers, secret, toleranceSeconds: toleranceMs / 1000 }) };
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error;
    return { refused: { code: error.code, message: error.message } };
  }
}

/** The type of an event in the formats that have one. */
export function typeOf(event: unknown): string | undefined {
  if (typeof event !== "object" || event === null) return undefined;
  const { type, event_type: legacy } = event as { readonly type?: unknown; readonly event_type?: unknown };
  return [type, legacy].find((each) => typeof each === "string");
}
