/** A contestant's process: requests go in one by one, each is answered by one line. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { type AnswerTo, ContestantError, type Request, readAnswer } from "./protocol.ts";

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
}

interface Waiting {
  readonly resolve: (line: string) => void;
  readonly reject: (error: Error) => void;
}

/** How much of what a contestant logs is kept for the message of a failure. */
const keptLog = 2_000;

export class ContestantProcess implements AsyncDisposable {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #ended: Promise<void>;
  readonly #waiting: Waiting[] = [];
  #log = "";
  #gone: string | undefined;

  constructor({ command, args }: Command, env: NodeJS.ProcessEnv, cwd: string) {
    const child = spawn(command, args, { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
    this.#child = child;
    // A pipe to a process that has ended fails; that it has ended is what counts.
    child.stdin.on("error", () => undefined);
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#log = (this.#log + text).slice(-keptLog);
    });
    createInterface({ input: child.stdout }).on("line", (line) => this.#waiting.shift()?.resolve(line));
    this.#ended = new Promise((resolve) => {
      child.on("error", (error) => this.#end(`cannot be started: ${error.message}`, resolve));
      child.on("close", (code, signal) => this.#end(`ended (${signal ?? code})`, resolve));
    });
  }

  /** Undefined when the process could not even be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Sends a request and waits for its answer; after so many seconds without one the process is killed. */
  async ask<R extends Request>(request: R, seconds = 120): Promise<AnswerTo<R>> {
    if (this.#gone !== undefined) throw this.#failure(this.#gone);
    const answered = new Promise<string>((resolve, reject) => this.#waiting.push({ resolve, reject }));
    this.#child.stdin.write(`${JSON.stringify(request)}\n`);
    const timer = setTimeout(() => {
      this.#log += `\nno answer to "${request.do}" in ${seconds} s`;
      this.#child.kill("SIGKILL");
    }, seconds * 1000);
    try {
      return readAnswer(request, await answered);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Closes its input, which ends a contestant; one that does not end is killed. */
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
