/** Processes of a run: started, signalled and watched. One that ends without being told to is trouble. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";

const KEPT_LINES = 60;
/** Of /proc: ticks a second, which Linux has fixed for user space. */
const TICKS = 100;

export class Child {
  readonly name: string;
  readonly process: ChildProcess;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  /** The last lines it wrote. */
  readonly lines: string[] = [];
  isOver = false;
  /** Somebody told it to end. */
  isExpected = false;
  /** It was told to stand still, or killed: it can do nothing that it is asked for. */
  isDown = false;

  /** `program` is a file of JavaScript. */
  constructor(program: string, name: string, env: Record<string, string>) {
    this.name = name;
    const { PATH, HOME } = process.env;
    this.process = spawn(process.execPath, [program], {
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      env: {
        ...(PATH ? { PATH } : {}),
        ...(HOME ? { HOME } : {}),
        NODE_ENV: "production",
        NAME: name,
        ...env,
      },
    });
    this.process.channel?.unref();
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream?.on("data", (chunk: Buffer) => {
        this.lines.push(...chunk.toString("utf8").trimEnd().split("\n"));
        this.lines.splice(0, this.lines.length - KEPT_LINES);
      });
    }
    this.ended = once(this.process, "close").then(([code, signal]) => {
      this.isOver = true;
      return { code, signal };
    });
  }

  get pid(): number {
    return this.process.pid ?? 0;
  }

  signal(signal: NodeJS.Signals): void {
    if (signal === "SIGKILL" || signal === "SIGTERM") this.isExpected = true;
    this.isDown = signal === "SIGKILL" || signal === "SIGSTOP" || (this.isDown && signal !== "SIGCONT");
    this.process.kill(signal);
  }

  tell(message: object): void {
    if (this.process.connected) this.process.send(message);
  }

  /** Seconds of CPU time so far; undefined where the system does not tell. */
  cpuSeconds(): number | undefined {
    try {
      const fields = readFileSync(`/proc/${this.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
      return (Number(fields[11]) + Number(fields[12])) / TICKS;
    } catch {
      return undefined;
    }
  }
}
