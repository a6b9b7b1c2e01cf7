/** Starts a contestant of the benchmarks and sends requests to it, line by line. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export type Reply = Record<string, unknown>;

export interface Contestant {
  /** Sends a request and resolves to the reply, even if the reply is an error. */
  ask(request: object | string): Promise<Reply>;
  /** Closes the standard input of the process and resolves to its exit code. */
  end(): Promise<number | null>;
  /** Kills the process if it is still running. */
  kill(): Promise<void>;
}

export function startContestant(
  { command, args, env = {} }: { command: string; args: string[]; env?: Record<string, string> },
  environment: { readonly DATABASE_URL: string; readonly BENCH_SETTINGS: "best" | "default" },
): Contestant {
  const child = spawn(command, args, {
    env: { ...process.env, ...env, ...environment, NODE_ENV: "production" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const end = async (): Promise<number | null> => {
    child.stdin.end();
    const [code] = (await ended) as [number | null];
    return code;
  };
  return {
    ask: async (request) => {
      child.stdin.write(`${typeof request === "string" ? request : JSON.stringify(request)}\n`);
      const { value, done } = await lines.next();
      if (done === true) throw new Error("the contestant exited without a reply");
      return JSON.parse(value) as Reply;
    },
    end,
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
