/** `jobforge webhooks listen`: receives and verifies deliveries on this machine, until Ctrl-C. */
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Command } from "commander";
import { action, addCommand, type Cli, outputOf } from "../command.ts";
import { exitCodes } from "../failures.ts";
import type { Output } from "../output/output.ts";
import { plain } from "../output/terminal.ts";
import { interruption, untilAborted } from "../process.ts";
import { opened, portOption } from "../server/listen.ts";
import {
  type Checked,
  checkDelivery,
  type ReceiverOptions,
  secretsOf,
  typeOf,
  withSecrets,
} from "./receive.ts";

interface ListenOptions extends ReceiverOptions {
  readonly port: number;
}

const host = "127.0.0.1";
const usualPort = 4471;
/** More than any event has. A longer body gets status 413. */
const maxBytes = 8 * 1024 * 1024;
/** Enough to recognize a repeated delivery, without growing for ever. */
const remembered = 10_000;

export function listenCommand(webhooks: Command, cli: Cli): void {
  withSecrets(
    addCommand(webhooks, "listen", {
      summary: "Receive and verify deliveries on this machine, until Ctrl-C",
      details: [
        "It responds with 204 to a delivery that is authentic, else with 401 or 400.",
        "--json prints one document per line.",
      ].join(" "),
      examples: [
        "jobforge webhooks listen --secret whsec_…",
        "jobforge webhooks listen --port 8080 --secret whsec_… --json",
      ],
    }),
  )
    .option("--port <number>", "the port; 0 picks a free one", portOption("--port"), usualPort)
    .action(action(cli, (options: ListenOptions) => listen(cli, options)));
}

async function listen(cli: Cli, options: ListenOptions): Promise<number> {
  const output = outputOf(cli, options);
  const secrets = secretsOf(options, cli.process);
  const printer = new Printer(output);
  const server = createServer((request, response) => {
    const respond = (status: number): void => void response.writeHead(status).end();
    receive(request)
      .then(async (body) => {
        if (body === undefined) return respond(request.method === "POST" ? 413 : 405);
        const checked = await checkDelivery({ body, headers: request.headers }, secrets, options.tolerance);
        printer.print(request.url ?? "/", checked);
        respond("verified" in checked ? 204 : checked.refused.code === "invalid_body" ? 400 : 401);
      })
      // The sender broke off, so it gets no response.
      .catch(() => void response.destroy());
  });
  const port = await opened(() => listening(server, options.port), "--port", options.port, host);
  using interrupted = interruption(cli.process);
  const url = `http://${host}:${port}`;
  output.line({ event: "listening", url }, `Listening on ${url}`);
  await untilAborted(interrupted.signal);
  server.close();
  server.closeAllConnections();
  return exitCodes.ok;
}

async function listening(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  return (server.address() as AddressInfo).port;
}

/** Returns the exact bytes of a delivery, or undefined for another method or a body that is too long. */
async function receive(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    // The rest is read and dropped, so that the sender gets the response.
    if (length <= maxBytes) chunks.push(chunk);
  }
  return request.method !== "POST" || length > maxBytes ? undefined : Buffer.concat(chunks);
}

class Printer {
  readonly #output: Output;
  readonly #seen = new Set<string>();

  constructor(output: Output) {
    this.#output = output;
  }

  print(path: string, checked: Checked): void {
    const { style } = this.#output;
    const at = new Date().toISOString();
    if ("refused" in checked) {
      const { code, message } = checked.refused;
      const words = [style("dim", at), style("red", "refused "), code, plain(path), message];
      this.#output.line({ event: "refused", at, path, code, message }, words.join(" "));
      return;
    }
    const { id, timestamp, event } = checked.verified;
    const repeated = this.#isRepeated(id);
    const type = typeOf(event);
    const words = [style("dim", at), style("green", "verified"), plain(type ?? "-"), plain(id), plain(path)];
    this.#output.line(
      { event: "verified", at, path, id, timestamp, type, repeated, body: event },
      [...words, ...(repeated ? [style("yellow", "repeated")] : [])].join(" "),
    );
  }

  #isRepeated(id: string): boolean {
    if (this.#seen.has(id)) return true;
    this.#seen.add(id);
    const [oldest] = this.#seen;
    if (this.#seen.size > remembered && oldest !== undefined) this.#seen.delete(oldest);
    return false;
  }
}
