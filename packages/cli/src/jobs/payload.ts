/** Reads a payload argument: JSON, `@file` for the content of a file, or `-` for standard input. */
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import type { Cli } from "../command.ts";
import { UsageError } from "../failures.ts";
import { fileError } from "../files.ts";

export async function readPayload(cli: Cli, given: string | undefined): Promise<unknown> {
  if (given === undefined) return {};
  const source =
    given === "-" ? await standardInput(cli) : given.startsWith("@") ? await fileText(given.slice(1)) : given;
  try {
    return JSON.parse(source);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`The payload is not valid JSON: ${reason}`);
  }
}

async function standardInput(cli: Cli): Promise<string> {
  const { stdin } = cli.process;
  if (stdin === undefined || stdin.isTTY)
    throw new UsageError("- reads the payload from a pipe, but standard input is not a pipe.");
  return await text(stdin);
}

async function fileText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw fileError("read", path, error);
  }
}
