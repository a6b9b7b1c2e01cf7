/** `jobforge webhooks verify`: checks one delivery, and says which check failed. */
import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import type { Command } from "commander";
import { action, addCommand, type Cli, outputOf } from "../command.ts";
import { CommandError, exitCodes, UsageError } from "../failures.ts";
import { fileError } from "../files.ts";
import { factLines, timeFact } from "../output/facts.ts";
import { collectHeader, type Headers } from "./headers.ts";
import {
  checkDelivery,
  type ReceiverOptions,
  type Refusal,
  secretsOf,
  typeOf,
  withSecrets,
} from "./receive.ts";

interface VerifyOptions extends ReceiverOptions {
  readonly header?: Headers;
}

export function verifyCommand(webhooks: Command, cli: Cli): void {
  withSecrets(
    addCommand(webhooks, "verify <body>", {
      summary: "Check one delivery, and say which check failed",
      details:
        "The body is its exact text, @file, or - for standard input. Exit code 1 if it is not authentic.",
      examples: [
        'jobforge webhooks verify @body.json --header "webhook-id: …" --header "webhook-timestamp: …" ' +
          '--header "webhook-signature: v1,…" --secret whsec_… --tolerance 7d',
      ],
    }),
  )
    .option(
      "--header <line>",
      'a header of the delivery, such as "webhook-id: msg_1"; repeatable',
      collectHeader,
    )
    .action(action(cli, (body: string, options: VerifyOptions) => verify(cli, body, options)));
}

async function verify(cli: Cli, given: string, options: VerifyOptions): Promise<number> {
  const output = outputOf(cli, options);
  const secrets = secretsOf(options, cli.process);
  const body = await readBytes(cli, given);
  const { header: headers = {}, tolerance } = options;
  const checked = await checkDelivery({ body, headers }, secrets, tolerance);
  if ("refused" in checked) throw failure(checked.refused);
  const { id, timestamp, event } = checked.verified;
  output.result({ verified: true, id, timestamp, event }, () => {
    const facts = [
      ["id", id],
      ["sent", timeFact(timestamp)],
      ["event", typeOf(event)],
    ] as const;
    return `${output.style("green", "The delivery is authentic.")}\n${factLines(facts, output.style)}`;
  });
  return exitCodes.ok;
}

/** The bytes are not decoded: their signature counts every one of them. */
async function readBytes(cli: Cli, given: string): Promise<Uint8Array> {
  if (given === "-") {
    const { stdin } = cli.process;
    if (stdin === undefined || stdin.isTTY)
      throw new UsageError("- reads the body from a pipe, but standard input is not a pipe.");
    return await buffer(stdin);
  }
  if (!given.startsWith("@")) return Buffer.from(given);
  const path = given.slice(1);
  try {
    return await readFile(path);
  } catch (error) {
    throw fileError("read", path, error);
  }
}

const hints: Readonly<Record<Refusal["code"], string>> = {
  missing_header: 'Pass it with --header "name: value". A proxy may have removed it.',
  invalid_id: "It is 1 to 256 characters without spaces and full stops.",
  invalid_timestamp: "It is the time in whole seconds since 1970.",
  too_old: "For a delivery that was kept, pass --tolerance, such as 7d. Else compare the clocks.",
  too_new: "Compare the clocks of this machine and of the worker.",
  invalid_secret: "jobforge webhooks secret shows the secret of an endpoint.",
  no_match:
    "Compare the secret with jobforge webhooks secret, and pass the bytes as they arrived: JSON that was parsed and " +
    "written again has another signature.",
  invalid_body: "The signature is right, so the sender made the body like this.",
};

function failure({ code, message }: Refusal): Error {
  if (code === "invalid_secret") return new UsageError(`${message} ${hints[code]}`);
  return new CommandError(code, message, hints[code]);
}
