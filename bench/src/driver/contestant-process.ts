/** A contestant's process. The driver sends one request at a time, and the process replies to each with one line. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { ContestantError, type ReplyTo, type Request, readReply } from "./protocol.ts";

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  /** Variables in addition to those of the store. */
  readonly env?: Readonly<Record<string, string>>;
}

interface Waiting {
  readonly resolve: (line: string) => void;
  readonly reject: (error: Error) => void;
}

/** The number of characters of a contestant's log that are kept for the message of a failure. */
const keptLogLength = 2_000;

export class ContestantProcess implements AsyncDisposable {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #ended: Promise<void>;
  readonly #waiting: Waiting[] = [];
  #log = "";
  #gone: string | undefined;

  constructor({ command, args, env: more }: Command, env: NodeJS.ProcessEnv, cwd: string) {
    const child = spawn(command, args, { cwd, env: { ...env, ...more }, stdio: ["pipe", "pipe", "pipe"] });
    this.#child = child;
    // Writing to a process that has exited fails. The exit itself is reported by `#end`, so this error is ignored.
    child.stdin.on("error", () => undefined);
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#log = (this.#log + text).slice(-keptLogLength);
    });
    createInterface({ input: child.stdout }).on("line", (line) => this.#waiting.shift()?.resolve(line));
    this.#ended = new Promise((resolve) => {
      child.on("error", (error) => this.#end(`could not be started: ${error.message}`, resolve));
      child.on("close", (code, signal) => this.#end(`exited (${signal ?? code})`, resolve));
    });
  }

  /** Undefined if the process could not be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Sends a request and resolves to its reply. Kills the process if there is no reply within `seconds`. */
  async ask<R extends Request>(request: R, seconds = 120): Promise<ReplyTo<R>> {
    if (this.#gone !== undefined) throw this.#failure(this.#gone);
    const replied = new Promise<string>((resolve, reject) => this.#waiting.push({ resolve, reject }));
    this.#child.stdin.write(`${JSON.stringify(request)}\n`);
    const timer = setTimeout(() => {
      this.#log += `\nno reply to "${request.do}" within ${seconds} s`;
      this.#child.kill("SIGKILL");
    }, seconds * 1000);
    try {
      return readReply(request, await replied);
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Closes the standard input of the process, which ends a contestant. Kills the process if it does not exit in time.
   */
  async close(seconds = 20): Promise<void> {
    this.#child.stdin.end();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), seconds * 1000);
    await this.#ended;
    clearTimeout(timer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #end(how: string, resolve: () => void): void {
    this.#gone ??= how;
    for (const { reject } of this.#waiting.splice(0)) reject(this.#failure(how));
    resolve();
  }

  #failure(how: string): ContestantError {
    const log = this.#log.trim();
    return new ContestantError(`the process ${how}${log === "" ? "" : `: ${log}`}`);
  }
}
